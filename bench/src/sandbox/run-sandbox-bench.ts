import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { prepareMachine } from '../agent/machine.ts'
import { withVerdicts } from '../goals/goal.ts'
import { describeMachine } from '../report/describe-machine.ts'
import { formatRangedGoals } from '../report/ranged-goals-table.ts'
import { roundNumber } from '../report/write-results.ts'
import { measureLargeWorkspace } from './cases/large-workspace.ts'
import { measureMany } from './cases/many.ts'
import { measureMasks } from './cases/masks.ts'
import { measureRequests, type RequestsOptions } from './cases/requests.ts'
import { measureStart } from './cases/start.ts'
import { formatFigures } from './format-figures.ts'
import { judgeSandbox, type SandboxFigures } from './goals.ts'
import { startSandboxMachine, type SandboxMachine } from './sandbox-machine.ts'
import { makeWorkspaces } from './workspaces.ts'

export const SANDBOX_GROUPS = ['start', 'requests', 'large', 'masks', 'many'] as const
export type SandboxGroup = (typeof SANDBOX_GROUPS)[number]

/** One policy less than an organization may have, for the rules of the workspaces. */
const SHAPE = { policies: 99, rulesPerPolicy: 50 }

interface Extent {
  readonly starts: number
  readonly requests: RequestsOptions
  readonly files: number
  readonly largeStarts: number
  readonly saves: number
  readonly sandboxes: number
}

const FULL: Extent = {
  starts: 15,
  requests: { rounds: 5, connections: 2_000, requests: 20_000 },
  files: 100_000,
  largeStarts: 9,
  saves: 400,
  sandboxes: 50,
}

/** Checks that every case works. */
const QUICK: Extent = {
  starts: 2,
  requests: { rounds: 1, connections: 200, requests: 1_000 },
  files: 2_000,
  largeStarts: 2,
  saves: 20,
  sandboxes: 5,
}

/** Measures `palisade run` beside bubblewrap and other sandboxes, and returns the exit status. */
export async function runSandboxBench(
  { quick, only }: { readonly quick: boolean; readonly only: SandboxGroup | null },
  results: string,
  tell: (line: string) => void,
): Promise<number> {
  if (process.platform !== 'linux') {
    tell(`sandboxes are made on Linux only, and this is ${process.platform}`)
    return 1
  }
  const started_at = new Date().toISOString()
  const machine = describeMachine()
  const extent = quick ? QUICK : FULL
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'palisade-bench-')))
  try {
    tell('a server, an enrolled machine and its workspaces')
    const enrolled = await prepareMachine(folder, SHAPE)
    let figures: SandboxFigures
    try {
      const workspaces = await makeWorkspaces(enrolled, folder, extent.files)
      const sandbox = await startSandboxMachine(enrolled, folder, workspaces)
      try {
        figures = await measure(sandbox, { folder, extent, only, tell })
      } finally {
        await sandbox.stop()
      }
    } finally {
      await enrolled.server.stop()
    }
    const goals = judgeSandbox(figures)
    const shown = only === null ? goals : goals.filter(({ reached }) => reached !== null)
    process.stdout.write(`${formatFigures(figures)}${formatRangedGoals(shown)}`)
    const judged = withVerdicts(goals)
    const run = { mode: 'full', started_at, machine, policy: SHAPE, goals: judged, ...figures }
    // Only a full run may replace the recorded figures.
    if (only === null && !quick) {
      mkdirSync(results, { recursive: true })
      writeFileSync(join(results, 'sandbox.json'), `${JSON.stringify(run, roundNumber, 2)}\n`)
      tell('written: bench/results/sandbox.json')
    }
    return 0
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(
  machine: SandboxMachine,
  run: {
    readonly folder: string
    readonly extent: Extent
    readonly only: SandboxGroup | null
    readonly tell: (line: string) => void
  },
): Promise<SandboxFigures> {
  const { extent, only, tell } = run
  const inTurn = async <T>(group: SandboxGroup, work: () => Promise<T>): Promise<T | null> => {
    if (only !== null && only !== group) return null
    tell(group)
    return work()
  }
  return {
    start: await inTurn('start', () => measureStart(machine, run.folder, extent.starts)),
    requests: await inTurn('requests', () => measureRequests(machine, extent.requests)),
    large: await inTurn('large', () =>
      measureLargeWorkspace(machine, extent.files, extent.largeStarts),
    ),
    masks: await inTurn('masks', () => measureMasks(machine, extent.saves)),
    many: await inTurn('many', () => measureMany(machine, extent.sandboxes)),
  }
}
