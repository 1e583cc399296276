import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it } from 'vitest'
import { encodePolicy } from '../../../../server/src/evidence/encoded-policies.ts'
import { EVIDENCE_FILE } from '../../../../server/src/evidence/store/open-evidence-store.ts'
import { openSqliteEvidence } from '../../../../server/src/evidence/store/sqlite/open-sqlite-evidence.ts'
import {
  makeSuggestions,
  type SuggestJob,
} from '../../../../server/src/evidence/suggest/suggest-process.ts'
import type { StartWorker } from '../../../../server/src/platform/start-worker.ts'
import { startBundle, startProcessFile } from '../../started-thread.ts'
import { temporaryDirectory } from '../../temporary-directory.ts'
import { appendRows, row } from '../store/evidence-batches.ts'
import { NOW_MS, optionsOf, organizationOf } from './recorded.ts'

const { teams, members } = organizationOf({ backend: ['ann', 'ben'] })

const JOB: SuggestJob = {
  store: { dataDir: '/nowhere', databaseUrl: null },
  org: 'acme',
  fromMs: NOW_MS - 60_000,
  toMs: NOW_MS + 1,
  nowMs: NOW_MS,
  policies: [],
  teams,
  members,
  rules: optionsOf(),
}

/** The directory of evidence in which two users were denied one host. */
async function recordDenials(): Promise<string> {
  const dataDir = temporaryDirectory()
  const evidence = openSqliteEvidence(join(dataDir, EVIDENCE_FILE))
  const tuple = { host: 'a.example.com', decision: 'deny', reason: 'default_deny' } as const
  for (const username of ['ann', 'ben'])
    await appendRows(evidence, [row({ decisions: 10, tuple })], { device_id: username, username })
  await evidence.close()
  return dataDir
}

/** A worker with this text. */
function worker(text: string): StartWorker {
  const file = join(mkdtempSync(join(temporaryDirectory(), 'w-')), 'worker.mjs')
  writeFileSync(file, text)
  return startProcessFile(pathToFileURL(file))
}

describe('the process that suggests', () => {
  it('reads the evidence and answers', async () => {
    const store = { dataDir: await recordDenials(), databaseUrl: null }

    const made = await makeSuggestions({ ...JOB, store }, { startWorker: startBundle })

    expect(made).toMatchObject({
      suggestions: [{ resource: 'a.example.com:443', teams: ['backend'] }],
      examined: { decisions: 20, devices: 2, targets: 1 },
      left_out: 0,
    })
  })

  it('fails for policies that do not compile, and without evidence', async () => {
    const store = { dataDir: await recordDenials(), databaseUrl: null }
    const rule = {
      id: 'r',
      name: 'r',
      actions: ['read'],
      decision: 'allow',
      resources: ['x'],
    } as const
    const policies = [encodePolicy({ id: 'p', name: 'p', allowlist_v0: { rules: [rule] } })]

    for (const [job, message] of [
      [{ ...JOB, store, policies }, 'policy `p` rule `r`'],
      [JOB, 'Cannot open database'],
    ] as const)
      await expect(makeSuggestions(job, { startWorker: startBundle })).rejects.toThrow(message)
  })

  it('tells of too much time and memory, and of an early end', async () => {
    const failures = []
    for (const [text, timeLimitMs] of [
      ['setInterval(() => {}, 1000)', 50],
      [`process.kill(process.pid, 'SIGKILL')`, 600_000],
      ['process.exit(0)', 600_000],
    ] as const)
      failures.push(
        await makeSuggestions(JOB, { startWorker: worker(text), timeLimitMs }).catch(
          (error: unknown) => error,
        ),
      )

    const tooMuch = { status: 403, code: 'limit_exceeded' }
    expect(failures).toMatchObject([tooMuch, tooMuch, { message: 'it exited with code 0' }])
  })

  it('gives its slot to the next caller when its own has gone', async () => {
    let isGone = false
    const startWorker = worker('setInterval(() => {}, 1000)')

    const made = makeSuggestions(JOB, { startWorker, isGone: () => isGone })
    isGone = true

    await expect(made).rejects.toThrow('the caller has gone')
  })
})
