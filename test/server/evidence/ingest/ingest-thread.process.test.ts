import { DEFAULT_EVIDENCE_SETTINGS } from '@palisade/protocol'
import { existsSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  createIngestThread,
  type IngestThread,
} from '../../../../server/src/evidence/ingest/ingest-thread.ts'
import { NO_LIMITS } from '../../../../server/src/evidence/store/evidence-limits.ts'
import { createLog } from '../../../../server/src/operations/log/create-log.ts'
import type { StartWorker } from '../../../../server/src/platform/start-worker.ts'
import { startBundle, startFile } from '../../started-thread.ts'
import { openTestEvidence } from '../../store/test-store.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { bodyOf, HASH, HEADER, linesOf, recordOf, textOf } from './batch-text.ts'

const NOON_MS = Date.parse('2026-11-21T12:00:00Z')
const SENDER = {
  org: 'acme',
  deviceId: 'dev_1',
  username: 'ann',
  settings: { ...DEFAULT_EVIDENCE_SETTINGS, upload: 'full' },
} as const

interface ThreadOptions {
  readonly startWorker?: StartWorker
  readonly answerWithinMs?: number
  readonly ping?: () => Promise<void>
  /** Receives the lines of the log. */
  readonly lines?: string[]
}

function openThread(
  dataDir: string,
  {
    ping = () => Promise.resolve(),
    lines = [],
    startWorker = startBundle,
    ...options
  }: ThreadOptions = {},
): IngestThread {
  const settings = {
    dataDir,
    databaseUrl: null,
    databaseConnections: 1,
    evidenceLimits: NO_LIMITS,
  }
  const log = createLog({ level: 'info', stream: { write: (line) => void lines.push(line) } })
  const thread = createIngestThread(settings, { ping }, log, { startWorker, ...options })
  onTestFinished(() => thread.close())
  return thread
}

/** A batch of one record. */
function batch(first = 1, previous = HEADER.previous) {
  return bodyOf(textOf({ ...HEADER, first, previous }, linesOf([recordOf()], first)))
}

/** A worker with this text. */
function worker(text: string): StartWorker {
  const file = join(temporaryDirectory(), 'worker.mjs')
  writeFileSync(file, `import { parentPort } from 'node:worker_threads'\n${text}`)
  return startFile(pathToFileURL(file))
}

describe('the thread that stores batches', () => {
  it('answers the position after the commit, and the batch is in the file', async () => {
    const directory = temporaryDirectory()
    const thread = openThread(directory)

    const { position, mark } = await thread.ingest(batch(), SENDER, NOON_MS)
    const evidence = await openTestEvidence(directory)
    onTestFinished(() => evidence.close())

    expect({ position, mark }).toEqual({ position: { boot: 'b1', seq: 1, hash: HASH }, mark: null })
    expect(await evidence.chain('dev_1')).toMatchObject({ position, received_ms: NOON_MS })
  })

  it('answers the mark of a gap', async () => {
    const thread = openThread(temporaryDirectory())
    await thread.ingest(batch(), SENDER, NOON_MS)

    const { mark } = await thread.ingest(batch(5, HASH), SENDER, NOON_MS)

    expect(mark).toEqual({ kind: 'gap', missing: 3 })
  })

  it('leaves the memory of the body to its owner', async () => {
    const thread = openThread(temporaryDirectory())
    const body = batch()

    await thread.ingest(body, SENDER, NOON_MS)

    expect(body.bytes.length).toBeGreaterThan(0)
  })

  it('refuses with errors of the batch and of the store, as `ingestBatch` does', async () => {
    const thread = openThread(temporaryDirectory())
    const nowhere = openThread('/nowhere')

    await expect(thread.ingest(bodyOf('{}\n'), SENDER, NOON_MS)).rejects.toMatchObject({
      name: 'ApiError',
      status: 400,
      code: 'invalid_argument',
      field: 'line 1',
    })
    await expect(nowhere.ingest(batch(), SENDER, NOON_MS)).rejects.toMatchObject({
      name: 'StoreError',
      code: 'ERR_STORE_UNAVAILABLE',
    })
  })

  it('names another error of the thread', async () => {
    const text = `parentPort.on('message', (request) => {
      if (request === 'close') return parentPort.close()
      const failure = { kind: 'other', message: 'broken', stack: '' }
      parentPort.postMessage({ id: request.id, failure })
    })`
    const thread = openThread(temporaryDirectory(), { startWorker: worker(text) })

    await expect(thread.ingest(batch(), SENDER, NOON_MS)).rejects.toThrow('broken')
  })

  it('refuses what waits when the thread ends, and starts another one', async () => {
    const directory = temporaryDirectory()
    const flag = join(directory, 'flag')
    const text = `import { existsSync, writeFileSync } from 'node:fs'
    parentPort.on('message', (request) => {
      if (request === 'close') return parentPort.close()
      if (!existsSync(${JSON.stringify(flag)})) {
        writeFileSync(${JSON.stringify(flag)}, '')
        process.exit(1)
      }
      parentPort.postMessage({ id: request.id, value: { position: 'again', mark: null } })
    })`
    const thread = openThread(directory, { startWorker: worker(text) })

    const refused = await Promise.allSettled([
      thread.ingest(batch(), SENDER, NOON_MS),
      thread.ingest(batch(), SENDER, NOON_MS),
    ])

    expect(refused).toMatchObject([
      { status: 'rejected', reason: { code: 'ERR_STORE_UNAVAILABLE' } },
      { status: 'rejected', reason: { code: 'ERR_STORE_UNAVAILABLE' } },
    ])
    expect(await thread.ingest(batch(), SENDER, NOON_MS)).toEqual({ position: 'again', mark: null })
  })

  it('is ended and replaced when it answers nothing, which the log tells', async () => {
    const directory = temporaryDirectory()
    const flag = join(directory, 'flag')
    const text = `import { existsSync, writeFileSync } from 'node:fs'
    const isSilent = !existsSync(${JSON.stringify(flag)})
    writeFileSync(${JSON.stringify(flag)}, '')
    parentPort.on('message', (request) => {
      if (request === 'close') return parentPort.close()
      if (isSilent) for (;;);
      parentPort.postMessage({ id: request.id, value: { position: 'again', mark: null } })
    })`
    const lines: string[] = []
    const thread = openThread(directory, {
      startWorker: worker(text),
      answerWithinMs: 2_000,
      lines,
    })

    await expect(thread.ingest(batch(), SENDER, NOON_MS)).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
    })

    expect(lines).toEqual([expect.stringContaining('no answer within 2000 ms')])
    expect(await thread.ingest(batch(), SENDER, NOON_MS)).toEqual({ position: 'again', mark: null })
  })

  it('is named in the log when it ends while no batch waits', async () => {
    const text = `parentPort.on('message', (request) => {
      if (request === 'close') return parentPort.close()
      parentPort.postMessage({ id: request.id, value: { position: 'once', mark: null } })
      setTimeout(() => process.exit(7))
    })`
    const lines: string[] = []
    const thread = openThread(temporaryDirectory(), { startWorker: worker(text), lines })

    await thread.ingest(batch(), SENDER, NOON_MS)

    await expect.poll(() => lines).toEqual([expect.stringContaining('it exited with code 7')])
  })

  it('refuses batches where the database of the server was deleted before it started', async () => {
    const directory = temporaryDirectory()
    const evidence = await openTestEvidence(directory)
    onTestFinished(() => evidence.close())
    const thread = openThread(directory, { ping: evidence.ping })
    const path = join(directory, 'evidence.db')

    renameSync(path, `${path}.away`)
    await expect(thread.ingest(batch(), SENDER, NOON_MS)).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
    })
    const isMade = existsSync(path)
    renameSync(`${path}.away`, path)

    expect(isMade).toBe(false)
    expect(await thread.ingest(batch(), SENDER, NOON_MS)).toMatchObject({ position: { seq: 1 } })
    expect(await evidence.chain('dev_1')).toMatchObject({ position: { seq: 1 } })
  })

  it('stores what has arrived before it is closed, and refuses what comes later', async () => {
    const thread = openThread(temporaryDirectory())

    const arrived = thread.ingest(batch(), SENDER, NOON_MS)
    await thread.close()

    expect(await arrived).toMatchObject({ position: { seq: 1 } })
    await expect(thread.ingest(batch(), SENDER, NOON_MS)).rejects.toMatchObject({
      code: 'ERR_STORE_UNAVAILABLE',
    })
  })
})
