import {
  DOMAIN_NAMES,
  EXPLAIN_CALLS,
  MATCHING_RULES,
  WORST_INPUTS,
  type Case,
  type CaseResult,
  type DomainName,
  type Figure,
  type Unit,
} from '../case.ts'
import { BOUNDS, EXPLAIN_ALL_MS, PEERS_AT_10, WORST_MS } from './bounds.ts'
import type { Goal } from './goal.ts'

/** Lists every goal in the order of the table, with the measured figure. */
export function judgeGoals(results: readonly CaseResult[]): Goal[] {
  return [
    ...DOMAIN_NAMES.flatMap((domain) => [
      ...baselineGoals(results, domain),
      growthGoal(results, domain),
      peerGoal(results, domain, 1000, BOUNDS[domain].peersAt1000),
      peerGoal(results, domain, 10, PEERS_AT_10),
      ...compileGoals(results, domain),
      ...memoryGoals(results, domain),
    ]),
    ...worstGoals(results),
    ...explainGoals(results),
  ]
}

function baselineGoals(results: readonly CaseResult[], domain: DomainName): Goal[] {
  const { must, sizes } = BOUNDS[domain].baseline
  return sizes.map((size) => {
    const ours = ownDecide(results, domain, size)
    const reached = ours?.ratio ?? null
    return { ...atMost('decide / Map.get', domain, size, 'x', must), reached, ...spreadOf(ours) }
  })
}

function growthGoal(results: readonly CaseResult[], domain: DomainName): Goal {
  const small = ownDecide(results, domain, 100)?.value
  const large = ownDecide(results, domain, 10_000)?.value
  const reached = small === undefined || large === undefined ? null : large / small
  const goal = atMost('growth, 100 to 10,000', domain, null, 'x', BOUNDS[domain].growth)
  return { ...goal, reached, note: reached === null ? '' : `${ns(small)} to ${ns(large)}` }
}

/** The best peer is the one with the smallest median ratio. */
function peerGoal(
  results: readonly CaseResult[],
  domain: DomainName,
  size: number,
  must: number,
): Goal {
  const peers = mixedOf(results, domain, size, true).flatMap(({ contender, to_ours }) =>
    to_ours === null ? [] : [{ contender, ...to_ours }],
  )
  const best = peers.toSorted((a, b) => a.ratio - b.ratio)[0]
  const goal = { ...atMost('best peer / decide', domain, size, 'x', must), isAtLeast: true }
  if (best === undefined) return goal
  const { contender, ratio, q1, q3 } = best
  return { ...goal, reached: ratio, spread: { q1, q3 }, note: contender }
}

function compileGoals(results: readonly CaseResult[], domain: DomainName): Goal[] {
  return Object.entries(BOUNDS[domain].compileMs).map(([text, must]) => {
    const size = Number(text)
    const ours = compiled(results, 'first compile', domain, size, 'us a resource, first')
    const goal = atMost('first compilation', domain, size, 'ms', must)
    const reached = ours === undefined ? null : (ours.value * size) / 1000
    return { ...goal, reached, note: processes(ours) }
  })
}

function memoryGoals(results: readonly CaseResult[], domain: DomainName): Goal[] {
  const { memory, memorySizes } = BOUNDS[domain]
  const held = [
    ['memory a resource', 'B a resource'],
    ['memory a resource, after decisions', 'B a resource, decided'],
  ] as const
  return memorySizes.flatMap((size) =>
    held.map(([name, unit]) => {
      const must = Math.round(memory.perResource + memory.fixed / size)
      const reached = compiled(results, 'compile', domain, size, unit)?.value ?? null
      return { ...atMost(name, domain, size, 'B', must), reached }
    }),
  )
}

function worstGoals(results: readonly CaseResult[]): Goal[] {
  return WORST_INPUTS.map((input) => {
    const [figure] = figuresOf(
      results,
      (each) => each.kind === 'first decision' && each.input === input,
    )
    const domain = input === '253 characters, 50,000 suffixes' ? 'hosts' : 'paths'
    const goal = atMost(`cold: ${input}`, domain, null, 'ms', WORST_MS)
    return { ...goal, reached: figure?.value ?? null, ...spreadOf(figure), note: processes(figure) }
  })
}

function explainGoals(results: readonly CaseResult[]): Goal[] {
  return EXPLAIN_CALLS.map((call) => {
    const [figure] = figuresOf(results, (each) => each.kind === 'explain all' && each.call === call)
    const name = `explain, every rule matches, ${call}`
    const goal = atMost(name, 'hosts', MATCHING_RULES, 'ms', EXPLAIN_ALL_MS)
    return { ...goal, reached: figure?.value ?? null, ...spreadOf(figure), note: processes(figure) }
  })
}

function atMost(
  name: string,
  domain: DomainName,
  size: number | null,
  unit: Goal['unit'],
  must: number,
): Goal {
  const open = { reached: null, spread: null, note: '' }
  return { name, domain, size, unit, isAtLeast: false, must, ...open }
}

function spreadOf(figure: Figure | undefined): Pick<Goal, 'spread'> {
  return { spread: figure?.spread ?? null }
}

function processes(figure: Figure | undefined): string {
  return figure === undefined ? '' : `median of ${figure.rounds}`
}

function ns(value: number | undefined): string {
  return `${Math.round(value ?? 0)} ns`
}

function figuresOf(
  results: readonly CaseResult[],
  isWanted: (each: Case) => boolean,
): readonly Figure[] {
  return results.find((result) => isWanted(result.case))?.figures ?? []
}

function mixedOf(
  results: readonly CaseResult[],
  domain: DomainName,
  size: number,
  peers: boolean,
): readonly Figure[] {
  return figuresOf(
    results,
    (each) =>
      each.kind === 'decide' &&
      each.domain === domain &&
      each.size === size &&
      each.mix === 'mixed' &&
      each.strings === 'fresh' &&
      each.peers === peers,
  )
}

function ownDecide(
  results: readonly CaseResult[],
  domain: DomainName,
  size: number,
): Figure | undefined {
  return mixedOf(results, domain, size, false).find(({ contender }) => {
    return contender === 'palisade decide'
  })
}

function compiled(
  results: readonly CaseResult[],
  kind: 'compile' | 'first compile',
  domain: DomainName,
  size: number,
  unit: Unit,
): Figure | undefined {
  return figuresOf(
    results,
    (each) => each.kind === kind && each.domain === domain && each.size === size,
  ).find((figure) => figure.unit === unit && figure.contender === 'palisade compilePolicy')
}
