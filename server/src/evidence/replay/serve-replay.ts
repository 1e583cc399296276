import type { WorkerPort } from '../../platform/start-worker.ts'
import { serveCalls } from '../../work/serve-calls.ts'
import { openEvidenceReading } from '../store/open-evidence-store.ts'
import type { ReplayJob } from './replay-job.ts'
import { runReplay, type OnProgress } from './run-replay.ts'

const PROGRESS_MS = 200

/** Answers a job with the line of its result. Lines of progress are notices. */
export function serveReplay(port: WorkerPort): void {
  const send = serveCalls(port, {
    async handle(message) {
      const job = message as ReplayJob
      const evidence = await openEvidenceReading(job.store)
      const result = await runReplay(job, evidence, createProgress(send))
      await evidence.close()
      return JSON.stringify({ result })
    },
  })
}

function createProgress(send: (line: string) => void): OnProgress {
  let sentMs = Number.NEGATIVE_INFINITY
  return (progress) => {
    const nowMs = performance.now()
    if (nowMs - sentMs < PROGRESS_MS) return
    sentMs = nowMs
    send(JSON.stringify({ progress }))
  }
}
