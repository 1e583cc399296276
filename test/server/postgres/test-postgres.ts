import { inject, onTestFinished } from 'vitest'
import { binariesOf } from './cluster.ts'
import { borrowDatabase, createEmptyDatabase, type BorrowedDatabase } from './database-pool.ts'

/** Tells whether the tests have a PostgreSQL for this platform. */
export function hasPostgres(): boolean {
  return inject('postgresDirectory') !== null
}

/** Opens an empty database until the end of the test. */
export async function testDatabase(): Promise<BorrowedDatabase> {
  const database = await openDatabase()
  onTestFinished(() => database.giveBack())
  return database
}

/** Opens an empty database, which the caller must give back. */
export function openDatabase(): Promise<BorrowedDatabase> {
  return borrowDatabase(...place())
}

/** Returns the URL of a database without a schema. */
export function unusedDatabase(): Promise<string> {
  return createEmptyDatabase(...place())
}

/** Returns the binaries and the directory for clusters. */
export function place(): [string, string] {
  const [binaries, directory] = [binariesOf(), inject('postgresDirectory')]
  if (binaries === null || directory === null) throw new Error('there is no PostgreSQL to test on')
  return [binaries, directory]
}
