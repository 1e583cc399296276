import { setPriority } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import type { FleetMachine } from '../fill/fill-devices.ts'
import { answerParent } from '../process/ask-child.ts'
import { createUploadingMachine } from './uploading-machine.ts'

/** Batches at a fixed rate, from each machine in turn. */
export interface UploadRequest {
  readonly server: string
  readonly machines: readonly FleetMachine[]
  readonly recordsPerSecond: number
  readonly recordsPerBatch: number
  readonly forMs: number
}

export interface UploadReport {
  /** Records of the batches that the server has stored. */
  readonly records: number
  readonly failed_batches: number
  readonly elapsed_ms: number
}

/** Machines do not make their batches on the server's processors. */
const NICENESS = 19

setPriority(NICENESS)
answerParent(upload)

async function upload(request: UploadRequest): Promise<UploadReport> {
  const { recordsPerBatch, forMs } = request
  const machines = request.machines.map((machine) =>
    createUploadingMachine(machine, request.server, Math.random),
  )
  const everyMs = (1000 * recordsPerBatch) / request.recordsPerSecond
  const start = performance.now()
  const busy: Promise<boolean>[] = []
  for (let batch = 0; batch * everyMs < forMs; batch += 1) {
    const dueMs = start + batch * everyMs - performance.now()
    if (dueMs > 0) await pause(dueMs)
    const machine = machines[batch % machines.length]
    if (machine !== undefined) busy.push(machine.upload(recordsPerBatch))
  }
  const stored = (await Promise.all(busy)).filter((isStored) => isStored).length
  return {
    records: stored * recordsPerBatch,
    failed_batches: busy.length - stored,
    elapsed_ms: performance.now() - start,
  }
}
