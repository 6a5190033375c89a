// Package sqlstore keeps sessions in a SQL database. It has every statement and all logic of
// such a store once; a Dialect has the differences between kinds of databases. sessions/sqlite
// and temporal/postgres each add a dialect, the opening of the database, and the hold on a
// session.
//
// # Statements
//
// A statement is the same text for all databases. Parameters are $1, $2 and so on. A word in
// braces, such as {key}, stands for the dialect's own text. The schema in schema.sql is written
// the same way. Each dialect has the steps that upgrade older stores to it.
//
// # Texts
//
// A turn keeps the texts that it names: table refs has a row for each. The transaction that
// deletes the last row of a text deletes the text.
package sqlstore
