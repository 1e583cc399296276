import { atLeast, atMost, type RangedGoal } from '../goals/ranged-goal.ts'
import type { Range } from '../measure/range.ts'
import type { ClientCommand, ClientResult } from './cases/client.ts'
import type { LocalApiResult } from './cases/local-api.ts'
import type { RestResult } from './cases/rest.ts'
import type { StartResult } from './cases/start.ts'
import type { ProxyFigures, TunnelsResult } from './cases/tunnels.ts'
import type { UpdatesResult } from './cases/updates.ts'

export interface AgentFigures {
  readonly start: StartResult | null
  readonly rest: RestResult | null
  readonly updates: UpdatesResult | null
  readonly tunnels: TunnelsResult | null
  readonly localApi: LocalApiResult | null
  readonly client: ClientResult | null
}

const MIB = 1024 * 1024

/** Compares the measured figures with every goal of the agent process. */
export function judgeAgent({
  start,
  rest,
  updates,
  tunnels,
  localApi,
  client,
}: AgentFigures): RangedGoal[] {
  const memory = rest === null ? null : [rest.idle_rss, rest.polled_rss].map(inMib)
  return [
    atMost('start to enforcing the kept policy', 'ms', 500, start?.away_ms ?? null),
    atMost('the same, server there', 'ms', 500, start?.there_ms ?? null),
    atMost('memory at rest', 'MiB', 110, memory?.[0] ?? null),
    atMost('memory at rest after polls', 'MiB', 110, memory?.[1] ?? null),
    atMost('of a core at rest, polls included', '%', 0.1, inPercent(rest?.share ?? null)),
    atMost('decision p99, update in chunks of a byte', 'ms', 20, updates?.chunked.p99 ?? null),
    atMost('decision p99, update of 25,000 rules', 'ms', 20, updates?.large.p99 ?? null),
    ...judgeTunnels(tunnels),
    atLeast('local API to a bare server', 'x', 0.6, ratioToBare(localApi)),
    atLeast('decisions in batches', '/s', 300_000, localApi?.batched_per_s ?? null),
    ...judgeClient(client),
  ]
}

function inMib(range: Range): Range {
  return { median: range.median / MIB, least: range.least / MIB, most: range.most / MIB }
}

function inPercent(range: Range | null): Range | null {
  if (range === null) return null
  return { median: range.median * 100, least: range.least * 100, most: range.most * 100 }
}

const PLAIN = 'node, 30 lines'
const SANDBOX_RUNTIME = 'sandbox-runtime'
const GENERAL_PROXIES: readonly string[] = ['tinyproxy', 'squid']

/** Ratios to other proxies of the same run; a goal without its peer is not measured. */
function judgeTunnels(tunnels: TunnelsResult | null): RangedGoal[] {
  const ratio = (
    figure: (of: ProxyFigures) => Range,
    isPeer: (name: string) => boolean,
  ): Range | null => {
    const ours = tunnels?.proxies.find(({ name }) => name === 'palisade')
    const peers = tunnels?.proxies.filter(({ name }) => isPeer(name)) ?? []
    if (ours === undefined || peers.length === 0) return null
    const best = Math.max(...peers.map((peer) => figure(peer).median))
    const { median, least, most } = figure(ours)
    return { median: median / best, least: least / best, most: most / best }
  }
  const isPlain = (name: string): boolean => name === PLAIN
  const one = (value: number | undefined): Range | null =>
    value === undefined ? null : { median: value, least: value, most: value }
  return [
    atMost(
      'new tunnel, CPU to a plain proxy',
      'x',
      1.5,
      ratio((of) => of.new_cpu_us, isPlain),
    ),
    atMost(
      'request in a tunnel, likewise',
      'x',
      1.3,
      ratio((of) => of.kept_cpu_us, isPlain),
    ),
    atLeast(
      'new tunnels a second to sandbox-runtime',
      'x',
      4,
      ratio(
        (of) => of.new_per_s,
        (name) => name === SANDBOX_RUNTIME,
      ),
    ),
    atLeast(
      'requests a second to the better of tinyproxy and squid',
      'x',
      0.8,
      ratio(
        (of) => of.kept_per_s,
        (name) => GENERAL_PROXIES.includes(name),
      ),
    ),
    atLeast(
      'bulk to squid',
      'x',
      0.7,
      ratio(
        (of) => of.bulk_mib_per_s,
        (name) => name === 'squid',
      ),
    ),
    atMost('memory of an open tunnel', 'kB', 30, one(inKb(tunnels?.held_bytes))),
    atMost('tunnels closed after a new policy', 'ms', 1_000, one(tunnels?.closed_ms)),
    atMost('longest decision meanwhile', 'ms', 50, one(tunnels?.longest_decision_ms)),
  ]
}

function inKb(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / 1000
}

function ratioToBare(localApi: LocalApiResult | null): Range | null {
  if (localApi === null) return null
  const { single_per_s: ours, bare_per_s: bare } = localApi
  const divide = (value: number): number => value / bare.median
  return { median: divide(ours.median), least: divide(ours.least), most: divide(ours.most) }
}

/** Coding agents wait for a hook before each tool call; people wait for `status` and `why`. */
function judgeClient(client: ClientResult | null): RangedGoal[] {
  const ratio = (command: ClientCommand): Range | null => client?.ratio[command] ?? null
  return [
    atMost('`palisade --version` to `node -e 0`', 'x', 1.5, ratio('version')),
    atMost('`palisade hook` to `node -e 0`', 'x', 1.5, ratio('hook')),
    atMost('`palisade status` to `node -e 0`', 'x', 2.5, ratio('status')),
    atMost('`palisade why` to `node -e 0`', 'x', 2.5, ratio('why')),
  ]
}
