import { parentPort, workerData } from 'node:worker_threads'
import { openEvidenceReading } from './evidence/store/open-evidence-store.ts'
import type { ReplayJob, ReplayMessage } from './evidence/replay/replay-job.ts'
import { runReplay, type OnProgress } from './evidence/replay/run-replay.ts'
import { lowerPriority } from './platform/lower-priority.ts'

/** A replay takes seconds; this gives it a tenth of the request thread's share of a busy CPU. */
const NICENESS = 10
const PROGRESS_MS = 200

lowerPriority(NICENESS)

const job = workerData as ReplayJob

function send(message: ReplayMessage): void {
  parentPort?.postMessage(message, [])
}

function createProgress(): OnProgress {
  let sentMs = Number.NEGATIVE_INFINITY
  return (progress) => {
    const nowMs = performance.now()
    if (nowMs - sentMs < PROGRESS_MS) return
    sentMs = nowMs
    send({ kind: 'progress', line: JSON.stringify({ progress }) })
  }
}

async function run(): Promise<void> {
  try {
    const evidence = await openEvidenceReading(job.store)
    const result = await runReplay(job, evidence, createProgress())
    await evidence.close()
    send({ kind: 'result', line: JSON.stringify({ result }) })
  } catch (error) {
    send({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
  }
}

void run()
