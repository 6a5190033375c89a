// The official JavaScript client against a server: exits with an error where something differs.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import OpenAI from 'openai'

const [baseURL, apiKey] = process.argv.slice(2)
const client = new OpenAI({ baseURL, apiKey, maxRetries: 0 })
const panel = 'panel', alone = 'panel/ada'
const user = content => ({ role: 'user', content })
const refused = (kind, status, promise) => assert.rejects(promise, e => e instanceof kind && e.status === status)

// Models.
const ids = []
for await (const m of client.models.list()) ids.push(m.id)
assert(ids.includes(panel) && ids.includes(alone), `${ids}`)
assert.equal((await client.models.retrieve(alone)).id, alone)

// Chat completions: whole, streaming, history, a named session, errors.
const { data: whole, response } = await client.chat.completions.create({ model: panel, messages: [user('What is Go?')] }).withResponse()
assert.equal(whole.choices[0].message.content, 'ada on What is Go?')
assert.match(whole.choices[0].message.reasoning_content, /voted for/)
assert(whole.usage.total_tokens > 0)

let content = '', reasoning = '', usage
const chunks = await client.chat.completions.create({
  model: panel, messages: [user('Why is Go?')], stream: true, stream_options: { include_usage: true },
})
for await (const chunk of chunks) {
  usage = chunk.usage ?? usage
  content += chunk.choices[0]?.delta.content ?? ''
  reasoning += chunk.choices[0]?.delta.reasoning_content ?? ''
}
assert.equal(content, 'ada on Why is Go?')
assert.match(reasoning, /voted for/)
assert(usage.total_tokens > 0)
assert.equal(await client.chat.completions.stream({ model: alone, messages: [user('Slowly?')] }).finalContent(), 'ada on Slowly?')

const again = await client.chat.completions.create({
  model: panel, messages: [user('What is Go?'), whole.choices[0].message, user('And then?')],
}).withResponse()
assert.equal(again.response.headers.get('massgen-session-id'), response.headers.get('massgen-session-id'))
assert.equal(again.data.choices[0].message.content, 'ada on And then? after What is Go?')
let named
for (const question of ['One?', 'Two?']) {
  named = await client.chat.completions.create({ model: alone, messages: [user(question)], metadata: { session_id: 'node' } })
}
assert.equal(named.choices[0].message.content, 'ada on Two? after One?')
await refused(OpenAI.NotFoundError, 404, client.chat.completions.create({ model: 'other', messages: [user('?')] }))
await refused(OpenAI.BadRequestError, 400, client.chat.completions.create({ model: panel, messages: [] }))
await refused(OpenAI.AuthenticationError, 401, client.withOptions({ apiKey: 'wrong' }).models.retrieve(alone))
await refused(OpenAI.InternalServerError, 502, client.responses.create({ model: alone, input: 'Fail?' }))

// The client runs a tool, and goes on by itself.
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const cities = []
const weather = ({ city }) => { cities.push(city); return 'rain' }
const runner = client.chat.completions.runTools({
  model: alone, messages: [user('Weather?')], stream: true,
  tools: [{ type: 'function', function: { name: 'weather', description: 'Tells the weather.', parse: JSON.parse, parameters, function: weather } }],
})
assert.equal(await runner.finalContent(), 'ada says rain')
assert.deepEqual(cities, ['Bonn'])
const tools = [{ type: 'function', name: 'weather', description: 'Tells the weather.', parameters, strict: null }]
const asked = await client.responses.create({ model: alone, input: 'Weather?', tools })
const call = asked.output.find(i => i.type === 'function_call')
const told = await client.responses.create({
  model: alone, previous_response_id: asked.id, tools, input: [{ type: 'function_call_output', call_id: call.call_id, output: 'sun' }],
})
assert.equal(told.output_text, 'ada says sun')

// Responses: whole, streaming, after one another, in a named session, in the background.
const first = await client.responses.create({ model: panel, input: 'What is Go?', metadata: { of: 'node' } })
assert.equal(first.output_text, 'ada on What is Go?')
assert.match(first.output[0].summary[0].text, /voted for/)
assert.deepEqual([first.status, first.metadata.of], ['completed', 'node'])

const kinds = []
const stream = client.responses.stream({ model: panel, input: 'And then?', previous_response_id: first.id })
for await (const event of stream) kinds.push(event.type)
const second = await stream.finalResponse()
assert.equal(second.output.at(-1).content[0].text, 'ada on And then? after What is Go?')
assert(kinds.includes('response.reasoning_summary_text.delta') && kinds.includes('response.output_text.delta'), `${kinds}`)
assert.equal((await client.responses.create({ model: alone, input: 'Three?', conversation: 'node' })).output_text, 'ada on Three? after One?, Two?')

let later = await client.responses.create({ model: panel, input: 'Slowly?', background: true })
while (later.status === 'queued' || later.status === 'in_progress') {
  await setTimeout(50)
  later = await client.responses.retrieve(later.id)
}
assert.deepEqual([later.status, later.output_text], ['completed', 'ada on Slowly?'])
const never = await client.responses.create({ model: alone, input: 'Never?', background: true })
assert.equal((await client.responses.cancel(never.id)).status, 'cancelled')
await client.responses.delete(first.id)
await refused(OpenAI.NotFoundError, 404, client.responses.retrieve(first.id))

// A request that is repeated begins no second turn.
const once = { headers: { 'Idempotency-Key': 'node' } }
const [one, two] = await Promise.all([1, 2].map(() => client.responses.create({ model: alone, input: 'Once?' }, once)))
assert.equal(one.id, two.id)
await refused(OpenAI.UnprocessableEntityError, 422, client.responses.create({ model: alone, input: 'Twice?' }, once))

// Pictures by data: URLs, and none by an address.
const pixel = 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='
const see = url => client.chat.completions.create({
  model: panel, messages: [user([{ type: 'text', text: 'See?' }, { type: 'image_url', image_url: { url } }])],
})
assert.match((await see(pixel)).choices[0].message.content, /^ada on See\?[^]*\[Attached: image \(image\/png, /)
await refused(OpenAI.BadRequestError, 400, see('https://example.com/a.png'))
const picture = await client.responses.create({
  model: alone, input: [user([{ type: 'input_text', text: 'See?' }, { type: 'input_image', image_url: pixel, detail: 'auto' }])],
})
assert.match(picture.output_text, /\[Attached: image \(image\/png, /)
// A structured answer, whole and streaming.
const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'], additionalProperties: false }
const format = { type: 'json_schema', json_schema: { name: 'place', strict: true, schema } }
for (const model of [panel, alone]) {
  const asked = { model, messages: [{ role: 'user', content: 'Which city?' }], response_format: format }
  const { parsed } = (await client.chat.completions.parse(asked)).choices[0].message
  assert.deepEqual(parsed, { city: 'Bonn' })
  const streamed = await client.chat.completions.stream(asked).finalContent()
  assert.equal(streamed, '{"city":"Bonn"}')
  const response = await client.responses.parse({ model, input: 'Which city?', text: { format: { type: 'json_schema', name: 'place', schema } } })
  assert.deepEqual(response.output_parsed, { city: 'Bonn' })
}

// What three providers see, byte for byte, and what they find: the sources of the answer are its
// annotations.
const eyes = ['eve', 'gil', 'rex']
const saw = '“looks”. image/png: ' + createHash('sha256').update(Buffer.from(pixel.split(',')[1], 'base64')).digest('hex')
const { message: seen } = (await client.chat.completions.create({
  model: 'providers', messages: [user([{ type: 'text', text: 'See?' }, { type: 'image_url', image_url: { url: pixel } }])],
})).choices[0]
assert.equal(seen.content, `eve ${saw}`)
for (const eye of eyes) assert(seen.reasoning_content.includes(`${eye} ${saw}`), seen.reasoning_content)
const cut = (text, a) => [...text].slice(a.start_index, a.end_index).join('')
for (const [model, eye] of [['providers', 'eve'], ...eyes.map(eye => [`providers/${eye}`, eye])]) {
  const want = `[Tides](https://${eye}.example/tides)`
  const { message } = (await client.chat.completions.create({ model, messages: [user('Tides?')], web_search_options: {} })).choices[0]
  assert.deepEqual(message.annotations.map(a => cut(message.content, a.url_citation)), [want])
  const stream = client.responses.stream({ model, input: 'And?', tools: [{ type: 'web_search' }] })
  const added = []
  for await (const event of stream) if (event.type === 'response.output_text.annotation.added') added.push(event.annotation.url)
  const [part] = (await stream.finalResponse()).output.at(-1).content
  assert.deepEqual(part.annotations.map(a => cut(part.text, a)), [want])
  assert.deepEqual(added, [`https://${eye}.example/tides`])
}
await refused(OpenAI.BadRequestError, 400, client.chat.completions.create({ model: panel, messages: [user('?')], web_search_options: {} }))
