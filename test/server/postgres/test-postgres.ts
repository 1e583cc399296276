import { inject, onTestFinished } from 'vitest'
import { binariesOf } from './cluster.ts'
import { borrowDatabase, createEmptyDatabase, type BorrowedDatabase } from './database-pool.ts'

/** Whether there is a PostgreSQL for this platform. */
export function hasPostgres(): boolean {
  return inject('postgresDirectory') !== null
}

/** An empty database for as long as the test takes. */
export async function testDatabase(): Promise<BorrowedDatabase> {
  const database = await openDatabase()
  onTestFinished(() => database.giveBack())
  return database
}

/** An empty database, to be given back. */
export function openDatabase(): Promise<BorrowedDatabase> {
  return borrowDatabase(...place())
}

/** The URL of a database in which there is no schema yet. */
export function unusedDatabase(): Promise<string> {
  return createEmptyDatabase(...place())
}

/** Binaries, and the directory for clusters. */
export function place(): [string, string] {
  const [binaries, directory] = [binariesOf(), inject('postgresDirectory')]
  if (binaries === null || directory === null) throw new Error('there is no PostgreSQL to test on')
  return [binaries, directory]
}
