import { EXPLAIN_CALLS, MATCHING_RULES, WORST_INPUTS } from './decide/case.ts'
import { atLeast, atMost, worstOf, type Goal } from './figures/goal.ts'
import { single } from './figures/range.ts'
import type { Figures } from './figures/table.ts'
import { DOMAIN_NAMES, type DomainName } from './workload/domain.ts'

const DECIDE = 'palisade decide'
const COMPILE = 'palisade compilePolicy'
const SIZES = [100, 1000, 10_000, 50_000] as const

/** Bounds that differ between the domains. */
const BOUNDS = {
  hosts: { growth: 1.5, bestPeer: 120, bytes: 250 },
  addresses: { growth: 1.5, bestPeer: 2.5, bytes: 250 },
  // With a fixed part of 4 MiB.
  paths: { growth: 1.8, bestPeer: 12, bytes: 1419 },
} as const satisfies Readonly<Record<DomainName, object>>

/** The goals of each subject. */
export const GOALS: Readonly<Record<string, readonly Goal[]>> = {
  decide: [
    ...decisionGoals(),
    ...WORST_INPUTS.map((input) => ({
      ...atMost('worst input, first', 15, 'ms', [`first decision: ${input}`, DECIDE, 'ms']),
      at: input,
    })),
    ...EXPLAIN_CALLS.map((call) => ({
      ...atMost('explain, 25,000 rules match', 50, 'ms', [
        `explain, ${MATCHING_RULES} rules match, ${call}`,
        'palisade explain',
        'ms',
      ]),
      at: call,
    })),
  ],
  server: [
    atMost('start to first 200', 1000, 'ms', ['start', 'server', 'to first 200, ms']),
    atMost('idle memory', 130, 'MiB', ['start', 'server', 'idle MiB']),
    ...(
      [
        ['poll', 'poll, 304, nothing written', 0.55],
        ['poll', 'poll, 304, last seen recorded', 0.5],
        ['poll', 'poll, 200', 0.5],
        ['read', 'policy GET', 0.3],
        ['create', 'rule create, durable', 0.05],
      ] as const
    ).map(([name, row, bound]) => atLeast(row, bound, 'x bare', [name, row, 'x bare'])),
    atMost('update, 304, with proof', 90, 'µs CPU', [
      'update',
      'update, 304, with proof',
      'CPU us',
    ]),
    atMost('policy list of 98', 100, 'µs CPU', ['read', 'policy list of 98', 'CPU us']),
    atLeast('rule create, a second', 3, 'x one commit each', [
      'create',
      'rule create, durable',
      'x one commit each',
    ]),
    atMost('rule create, 32 writers of one', 200, 'µs CPU', [
      'create',
      'rule create, 32 writers of one',
      'CPU us',
    ]),
    atMost('the same, p99', 25, 'ms', ['create', 'rule create, 32 writers of one', 'p99 ms']),
    atMost('bystander p99, worst load', 10, 'x rest', worstOf('hostile', 'x rest')),
    atMost('the same in time', 100, 'ms', worstOf('hostile', 'p99 ms')),
    atMost('bystander answered 5xx or not', 0, 'requests', worstOf('hostile', 'failed')),
    atMost('hostile loads, memory', 600, 'MiB', worstOf('hostile', 'peak MiB')),
    atMost('servers with 256 MiB of heap that end', 0, '', worstOf('hostile', 'ended')),
  ],
  tunnels: [
    ...(
      [
        ['new', 'new tunnel', 2.5],
        ['kept', 'request in a kept tunnel', 1.3],
        ['absolute', 'request in absolute form', 3],
        ['bulk', 'bulk', 1.3],
      ] as const
    ).map(([name, text, bound]) =>
      atMost(`${text}, CPU`, bound, 'x plain proxy', [name, 'palisade', 'x baseline']),
    ),
    atMost('memory at rest', 110, 'MiB', ['held', 'palisade', 'at rest, MiB']),
    atMost('memory of an open tunnel', 30, 'kB', ['held', 'palisade', 'kB each']),
    atMost('tunnels closed after a new policy', 1000, 'ms', ['held', 'palisade', 'all closed, ms']),
  ],
  sandbox: [
    ...(
      [
        ['palisade run, client', 1.5],
        ['palisade hook', 1.5],
        ['palisade --version', 1.5],
        ['palisade check of a file', 2.5],
      ] as const
    ).map(([row, bound]) => atMost(`\`${row}\``, bound, 'x node -e 0', ['client', row, 'x node'])),
    atLeast('sandbox-runtime', 2.5, 'x palisade run', ['start', 'sandbox-runtime', 'x palisade']),
    ...(['proxied', 'captured'] as const).flatMap((way) => [
      atMost(`new connection ${way}, CPU`, 1.2, 'x plain', [
        'requests',
        way,
        'new connection, x plain',
      ]),
      atMost(`request ${way}, CPU`, 1.2, 'x plain', ['requests', way, 'request, x plain']),
    ]),
  ],
  evidence: [
    atMost('ingest of a record over HTTP', 45, 'µs CPU', ['ingest', 'records', 'CPU us']),
    atMost('polls beside 5,000 records/s, p99', 2.5, 'x rest', ['ingest', 'polls', 'x rest']),
    atMost('first page of any audit query, p95', 300, 'ms', ['audit', 'first page', 'p95 ms']),
    atMost('replay of 10,000,000 records', 20, 's CPU', ['replay', 'replay', 'CPU s']),
    atMost('memory of it', 1024, 'MiB', ['replay', 'replay', 'MiB']),
  ],
  fleet: [
    atMost('million agents, polls', 1, 'processors', [
      'polls',
      '1000000 agents, counted',
      'processors',
    ]),
    atMost('two million remembered proofs', 256, 'MiB', [
      'proofs',
      'two million remembered proofs',
      'MiB',
    ]),
  ],
}

/** In the order of their names, for each domain in turn. */
function decisionGoals(): Goal[] {
  const each = (goalOf: (domain: DomainName) => Goal): Goal[] =>
    DOMAIN_NAMES.map((domain) => ({ ...goalOf(domain), at: domain }))
  const time = (column: string, bound: number, size: number): Goal[] =>
    each((domain) =>
      atMost(`decide, ${size} resources`, bound, column, [alone(domain, size), DECIDE, column]),
    )
  const compilation = (size: number, bound: number): Goal[] =>
    each((domain) =>
      atMost(`first compilation, ${size} resources`, bound, 'ms', [
        `first compile ${domain} ${size}`,
        COMPILE,
        'ms',
      ]),
    )
  return [
    ...SIZES.flatMap((size) => time('x Map.get', 4, size)),
    ...SIZES.flatMap((size) => time('ns', 300, size)),
    ...each((domain) =>
      atMost('growth from 100 to 10,000', BOUNDS[domain].growth, 'x', growthOf(domain)),
    ),
    ...each((domain) =>
      atLeast('best peer, 1000', BOUNDS[domain].bestPeer, 'x decide', bestPeerOf(`${domain} 1000`)),
    ),
    // One RegExp, which only returns yes or no.
    ...each((domain) => atLeast('best peer, 10', 0.4, 'x decide', bestPeerOf(`${domain} 10`))),
    ...compilation(1000, 40),
    ...compilation(50_000, 500),
    ...each((domain) =>
      atMost('memory, after decisions', BOUNDS[domain].bytes, 'B a resource', [
        `compile ${domain} 10000`,
        COMPILE,
        'B, decided',
      ]),
    ),
  ]
}

function alone(domain: DomainName, size: number): string {
  return `${domain} ${size}, alone`
}

function growthOf(domain: DomainName): Goal['find'] {
  return (figures) => {
    const [small, large] = [100, 10_000].map(
      (size) => figures[alone(domain, size)]?.[DECIDE]?.['ns'],
    )
    if (small === undefined || large === undefined) return undefined
    return single(large.median / small.median)
  }
}

/** The peer with the smallest median. */
function bestPeerOf(name: string): Goal['find'] {
  return (figures: Figures) =>
    Object.values(figures[name] ?? {})
      .flatMap((row) => row['x ours'] ?? [])
      .toSorted((a, b) => a.median - b.median)[0]
}
