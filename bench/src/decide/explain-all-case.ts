import { compilePolicy, explain } from '@palisade/policy-core'
import { MATCHING_RULES, type Case, type CaseResult } from './case.ts'
import { collectGarbage } from './measure/collect-garbage.ts'
import { quartilesOf } from '../figures/range.ts'
import { policiesOf } from '../workload/scenario.ts'

const RULES_PER_POLICY = 250
const REQUEST = { action: 'connect:tcp', host: 'a.example.test', port: 443 } as const
/** Discarded calls, and calls whose median is reported. */
const WARM_UP = 20
const WARM_CALLS = 21

/**
 * Explains a request that every rule of the largest organization matches. The figure is processor
 * time of the thread, because other programs on the machine hardly affect it.
 */
export function runExplainAllCase(each: Extract<Case, { kind: 'explain all' }>): CaseResult {
  const resources = Array.from({ length: MATCHING_RULES }, () => ({
    pattern: '**.test',
    decision: 'allow' as const,
  }))
  const policies = policiesOf('connect:tcp', resources, RULES_PER_POLICY)
  const policy = compilePolicy({ policies })
  const call = (): number => {
    collectGarbage()
    const start = process.threadCpuUsage()
    const { decision, rules } = explain(policy, REQUEST)
    const { user, system } = process.threadCpuUsage(start)
    if (decision !== 'allow' || rules.length !== MATCHING_RULES)
      throw new Error(`${rules.length} rules matched instead of ${MATCHING_RULES}`)
    return (user + system) / 1e3
  }
  if (each.call === 'warm') for (let round = 0; round < WARM_UP; round += 1) call()
  const rounds = each.call === 'warm' ? WARM_CALLS : 1
  const readings = Array.from({ length: rounds }, call)
  return { rows: { 'palisade explain': { ms: quartilesOf(readings) } }, left_out: [] }
}
