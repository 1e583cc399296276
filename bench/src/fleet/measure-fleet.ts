import { join } from 'node:path'
import { single } from '../figures/range.ts'
import { measureCases, type Subject } from '../figures/subject.ts'
import type { Rows } from '../figures/table.ts'
import { runNode } from '../process/run-command.ts'
import { measurePolls } from './measure-polls.ts'

const FULL = {
  sizes: [1000, 10_000, 100_000],
  requests: { rounds: 15, warmUp: 10_000, reads: 5_000, writes: 1_000 },
} as const

const QUICK = {
  sizes: [1000],
  requests: { rounds: 3, warmUp: 1_000, reads: 1_000, writes: 500 },
} as const

const PROOFS = join(import.meta.dirname, 'proofs-process.ts')
const MIB = 1024 * 1024

export const fleet: Subject = {
  name: 'fleet',
  about: 'polls of up to 100,000 agents, and of a million counted from them; proofs',
  minutes: 4,
  cases: ['polls', 'proofs'],
  measure(run) {
    const { sizes, requests } = run.quick ? QUICK : FULL
    return measureCases(run, {
      polls: () => measurePolls(run.folder, sizes, requests),
      proofs: measureProofs,
    })
  },
}

/** Measures in a separate process what two million remembered proofs retain. */
async function measureProofs(): Promise<Rows> {
  const { output } = await runNode(['--expose-gc', PROOFS])
  return { 'two million remembered proofs': { MiB: single(Number(output) / MIB) } }
}
