import type { WorkerPort } from '../../platform/start-worker.ts'
import { openEvidenceReading } from '../store/open-evidence-store.ts'
import type { ReplayJob, ReplayMessage } from './replay-job.ts'
import { runReplay, type OnProgress } from './run-replay.ts'

const PROGRESS_MS = 200

/** Runs one job, whose progress and result are sent to the port. */
export function serveReplay(port: WorkerPort, data: unknown): void {
  const job = data as ReplayJob
  const send = (message: ReplayMessage): void => port.postMessage(message, [])

  async function run(): Promise<void> {
    try {
      const evidence = await openEvidenceReading(job.store)
      const result = await runReplay(job, evidence, createProgress(send))
      await evidence.close()
      send({ kind: 'result', line: JSON.stringify({ result }) })
    } catch (error) {
      send({ kind: 'failed', message: error instanceof Error ? error.message : String(error) })
    }
  }

  void run()
}

function createProgress(send: (message: ReplayMessage) => void): OnProgress {
  let sentMs = Number.NEGATIVE_INFINITY
  return (progress) => {
    const nowMs = performance.now()
    if (nowMs - sentMs < PROGRESS_MS) return
    sentMs = nowMs
    send({ kind: 'progress', line: JSON.stringify({ progress }) })
  }
}
