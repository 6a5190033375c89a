// The AI SDK, on which many chat pages are built: it streams an answer with its reasoning.
import assert from 'node:assert/strict'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { jsonSchema, Output, stepCountIs, streamText, tool } from 'ai'

const [baseURL, apiKey] = process.argv.slice(2)
const massgen = createOpenAICompatible({ name: 'massgen', baseURL, apiKey, includeUsage: true, supportsStructuredOutputs: true })
const onError = ({ error }) => { throw error }

const messages = [{ role: 'user', content: 'What is Go?' }]
const first = streamText({ model: massgen('panel'), messages, onError })
const kinds = new Set()
for await (const part of first.fullStream) kinds.add(part.type)
assert(kinds.has('reasoning-delta') && kinds.has('text-delta'), `${[...kinds]}`)
assert.equal(await first.text, 'ada on What is Go?')
assert.match(await first.reasoningText, /ada voted for/)
assert((await first.usage).totalTokens > 0)
assert.equal(await first.finishReason, 'stop')

messages.push(...(await first.response).messages, { role: 'user', content: 'And then?' })
const second = streamText({ model: massgen('panel'), messages, onError })
assert.equal(await second.text, 'ada on And then? after What is Go?')

const cities = []
const third = streamText({
  model: massgen('panel/ada'), prompt: 'Weather?', stopWhen: stepCountIs(3), onError,
  tools: {
    weather: tool({
      description: 'Tells the weather.',
      inputSchema: jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }),
      execute: ({ city }) => { cities.push(city); return 'rain' },
    }),
  },
})
assert.equal(await third.text, 'ada says rain')
assert.deepEqual(cities, ['Bonn'])

const place = jsonSchema({ type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false })
for (const id of ['panel', 'panel/ada']) {
  const fourth = streamText({ model: massgen(id), prompt: 'Which city?', output: Output.object({ schema: place }), onError })
  assert.deepEqual(await fourth.output, { city: 'Bonn' })
}
