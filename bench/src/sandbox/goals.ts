import { atLeast, atMost, type RangedGoal } from '../goals/ranged-goal.ts'
import type { Range } from '../measure/range.ts'
import type { LargeWorkspaceResult } from './cases/large-workspace.ts'
import type { ManyResult } from './cases/many.ts'
import type { MasksResult } from './cases/masks.ts'
import type { RequestsResult, Way, WayFigures } from './cases/requests.ts'
import type { StartResult } from './cases/start.ts'

export interface SandboxFigures {
  readonly start: StartResult | null
  readonly requests: RequestsResult | null
  readonly large: LargeWorkspaceResult | null
  readonly masks: MasksResult | null
  readonly many: ManyResult | null
}

const MIB = 1024 * 1024

/** Compares the measured figures with every goal of the sandbox. */
export function judgeSandbox(figures: SandboxFigures): RangedGoal[] {
  const { start, large, masks, many } = figures
  const way = (name: Way): WayFigures | null => figures.requests?.ways[name] ?? null
  const proxied = way('proxied')
  const captured = way('captured')
  return [
    ...judgeStart(start),
    atMost('new connection by the proxy, CPU', 'x', 1.2, proxied?.opened_ratio ?? null),
    atMost('request by the proxy, CPU', 'x', 1.2, proxied?.kept_ratio ?? null),
    atMost('new connection captured, CPU', 'x', 1.2, captured?.opened_ratio ?? null),
    atMost('request captured, CPU', 'x', 1.2, captured?.kept_ratio ?? null),
    atMost('start in a large workspace', 'ms', 300, large?.large_ms ?? null),
    atMost('mask again after a save, p99', 'ms', 20, one(masks?.p99_ms)),
    atMost('memory of one of many', 'MiB', 12, one(inMib(many?.bytes_each))),
    atLeast('of many that run', '%', 100, one(shareRunning(many))),
  ]
}

function judgeStart(start: StartResult | null): RangedGoal[] {
  const { client_ratio: client = null, bubblewrap_ratio: bubblewrap = null } = start ?? {}
  const { sandbox_runtime_ratio: sandboxRuntime = null, mxc_ratio: mxc = null } = start ?? {}
  return [
    atMost('client of `palisade run` to `node -e 0`', 'x', 1.5, client),
    atMost('`palisade run true` without the client to bubblewrap', 'x', 3, bubblewrap),
    atLeast('as fast as sandbox-runtime', 'x', 4, sandboxRuntime),
    atLeast('as fast as mxc-sdk with a proxy', 'x', 2, mxc),
  ]
}

function one(value: number | null | undefined): Range | null {
  if (value === null || value === undefined) return null
  return { median: value, least: value, most: value }
}

function inMib(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / MIB
}

function shareRunning(many: ManyResult | null): number | null {
  return many === null ? null : (many.running / many.sandboxes) * 100
}
