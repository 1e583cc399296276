import { Counter, type Registry } from 'prom-client'

const KINDS = ['password', 'personal', 'organization', 'oidc'] as const
const RESULTS = ['ok', 'wrong_secret', 'throttled', 'failed'] as const

/**
 * `palisade_sign_ins_total`, with every label from the start, so that a first failure is a rise.
 */
export function createSignInMetrics(
  registry: Registry,
): (kind: (typeof KINDS)[number], result: (typeof RESULTS)[number]) => void {
  const counter = new Counter({
    name: 'palisade_sign_ins_total',
    help: 'Sign-in attempts by kind of credential and result',
    labelNames: ['kind', 'result'],
    registers: [registry],
  })
  for (const kind of KINDS) for (const result of RESULTS) counter.inc({ kind, result }, 0)
  return (kind, result) => counter.inc({ kind, result })
}
