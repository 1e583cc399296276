import { readConfig, createServer } from '@palisade/server'
import Sqlite from 'better-sqlite3'
import { randomBytes, randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openSqliteStore } from '../../../../server/src/store/sqlite/open-sqlite-store.ts'
import { openTestEvidence } from '../../store/test-store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { captureLog } from './log-lines.ts'

it('a server on a database of a newer release answers 503 and logs the remedy once', async () => {
  const { path, app, send, log } = await startServer()
  expect((await app.inject('/readyz')).statusCode).toBe(200)

  change(path, 'PRAGMA user_version = 999')

  const answers = [
    await app.inject('/readyz'),
    await send('POST', '/v2/auth/token'),
    await app.inject('/.well-known/jwks.json'),
  ]
  for (const answer of answers) {
    expect(answer.statusCode).toBe(503)
    expect(answer.headers['retry-after']).toBe('5')
    expect(answer.json()).toMatchObject({ error: { code: 'internal' } })
    // Not the whole body, because the random request id may contain these digits.
    expect(answer.json().error.message).not.toContain('999')
  }
  expect((await app.inject('/healthz')).statusCode).toBe(200)
  expect(log.lines().filter(({ level }) => level === 60)).toEqual([
    expect.objectContaining({
      msg: expect.stringMatching(/^the database has schema 999 .* start that release$/),
    }),
  ])
})

it('a server whose database lacks a table is not ready and logs the table once', async () => {
  const { path, app, send, log } = await startServer()

  change(path, 'DROP TABLE memberships; ALTER TABLE users RENAME TO lost')

  for (const answer of [await app.inject('/readyz'), await send('POST', '/v2/auth/token')]) {
    expect(answer.statusCode).toBe(503)
    expect(answer.json()).toMatchObject({
      error: {
        code: 'internal',
        message: "the database's schema is damaged; its operator must restore a backup",
      },
    })
  }
  expect((await app.inject('/healthz')).statusCode).toBe(200)
  expect(log.lines().filter(({ level }) => level === 60)).toEqual([
    expect.objectContaining({
      msg: expect.stringMatching(/schema is damaged \(no such table: \w+\): .* restore a backup$/),
    }),
  ])
})

async function startServer() {
  const directory = temporaryDirectory()
  const path = join(directory, 'server.db')
  const store = openSqliteStore(path)
  const evidence = await openTestEvidence(directory)
  const log = captureLog()
  const sources = {
    now: () => new Date(),
    monotonicMs: () => performance.now(),
    random: randomBytes,
    newId: randomUUID,
  }
  const server = await createServer({
    config: readConfig({}, directory),
    sources,
    store,
    evidence,
    logger: { level: 'info', stream: log.stream },
  })
  onTestFinished(async () => {
    await server.close()
    await evidence.close()
    await store.close()
  })
  const send = (method: 'GET' | 'POST', url: string) =>
    server.app.inject({ method, url, payload: { username: 'olga', password: 'secret' } })
  return { path, app: server.app, send, log }
}

function change(path: string, sql: string): void {
  const database = new Sqlite(path)
  database.exec(sql)
  database.close()
}
