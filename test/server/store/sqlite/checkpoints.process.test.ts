import Sqlite, { type Database } from 'better-sqlite3'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import {
  createCheckpoints,
  type Checkpoints,
} from '../../../../server/src/store/sqlite/checkpoints.ts'
import { startBundle, startFile } from '../../started-thread.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'

const PAGES = 20

function openLogged(): { readonly path: string; readonly writing: Database } {
  const path = join(temporaryDirectory(), 'server.db')
  const writing = new Sqlite(path)
  onTestFinished(() => void writing.close())
  writing.pragma('journal_mode = WAL')
  writing.pragma('wal_autocheckpoint = 0')
  writing.exec('CREATE TABLE t (body BLOB)')
  return { path, writing }
}

/** Writes slightly more than `pages` pages. */
function commit(writing: Database, pages: number): void {
  writing.prepare('INSERT INTO t (body) VALUES (?)').run(Buffer.alloc(pages * 4096))
}

function copied(writing: Database): { readonly log: number; readonly checkpointed: number } {
  const [row] = writing.pragma('wal_checkpoint(NOOP)') as { log: number; checkpointed: number }[]
  return row ?? { log: 0, checkpointed: 0 }
}

/** Reports commits until all pages are copied, because a busy thread misses some reports. */
async function untilCopied(writing: Database, checkpoints: Checkpoints): Promise<void> {
  while (copied(writing).checkpointed < copied(writing).log) {
    checkpoints.committed()
    await setTimeout(5)
  }
}

describe('checkpoints', () => {
  it('are done by a thread once the log is long', async () => {
    const { path, writing } = openLogged()
    const checkpoints = createCheckpoints(writing, path, { pages: PAGES, startWorker: startBundle })

    for (let round = 0; round < 3; round += 1) {
      commit(writing, PAGES)
      await untilCopied(writing, checkpoints)
    }

    expect(writing.prepare('SELECT count(*) FROM t').pluck().get()).toBe(3)
    await checkpoints.close()
  })

  it('are not done for a short log', async () => {
    const { path, writing } = openLogged()
    // A thread that could not start would report it.
    const file = pathToFileURL(join(path, 'missing.js'))
    const checkpoints = createCheckpoints(writing, path, {
      pages: PAGES,
      startWorker: startFile(file),
    })

    commit(writing, 2)
    checkpoints.committed()
    await checkpoints.close()

    expect(copied(writing).checkpointed).toBe(0)
  })

  it('leave the database to the last connection when closed, even while running', async () => {
    const { path, writing } = openLogged()
    const checkpoints = createCheckpoints(writing, path, { pages: PAGES, startWorker: startBundle })
    commit(writing, 1000)
    checkpoints.committed()

    await checkpoints.close()
    writing.close()

    expect(existsSync(`${path}-wal`)).toBe(false)
    const again = new Sqlite(path, { readonly: true })
    expect(again.prepare('SELECT count(*) FROM t').pluck().get()).toBe(1)
    again.close()
  })

  it('are left to the writer if the thread cannot start', async () => {
    const { path, writing } = openLogged()
    const file = pathToFileURL(join(path, 'missing.js'))
    const checkpoints = createCheckpoints(writing, path, {
      pages: PAGES,
      startWorker: startFile(file),
    })
    commit(writing, PAGES)
    checkpoints.committed()
    await checkpoints.close()

    commit(writing, PAGES)
    checkpoints.committed()
    await checkpoints.close()

    expect(copied(writing).checkpointed).toBe(0)
  })
})
