import { compilePolicy, decide, type CompiledPolicy } from '@palisade/policy-core'
import { noProxyPolicy } from '../../host/config/parent-settings.ts'
import type { Target } from '../target/authority.ts'

/** Whether a connection to `target` at `address` (undefined for a name) bypasses the parent. */
export type IsDirect = (target: Target, address: string | undefined) => boolean

/**
 * Connections to the targets of `patterns`, and to protected addresses (loopback, link-local,
 * metadata, the machine's own), bypass the parent: from the parent these addresses would be others.
 *
 * The evaluator answers both, so that a pattern means the same as in a rule, and an address is
 * protected exactly where a policy protects it.
 */
export function createIsDirect(
  patterns: readonly string[],
  machineAddresses: () => readonly string[],
): IsDirect {
  let known: { readonly addresses: string; readonly compiled: CompiledPolicy } | null = null
  const compiled = (): CompiledPolicy => {
    const machine = machineAddresses()
    const addresses = machine.join()
    if (known?.addresses !== addresses) {
      const policies = patterns.length === 0 ? [] : [noProxyPolicy(patterns)]
      known = { addresses, compiled: compilePolicy({ policies, machine_addresses: machine }) }
    }
    return known.compiled
  }
  return (target, address) => {
    const request = { action: 'connect:tcp', ...target, address }
    return decide(compiled(), request).reason !== 'default_deny'
  }
}
