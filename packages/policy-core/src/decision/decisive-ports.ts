import { freePort } from './free-port.ts'
import { canonicalHost } from '../host/canonical.ts'
import { isLocalhostName } from '../host/host.ts'
import { requireCompiled, type CompiledPolicy } from './compiled-policy.ts'

/**
 * The ports that stand for all ports of a name: those with rules of their own, and one more, unless
 * every port has rules. All other ports are decided like the last one. So a name is allowed on some
 * port exactly if it is allowed on one of these. This holds at every time, because the ports of
 * expired rules and of shadow policies are among them.
 *
 * Empty for an address, for `localhost` and names below it, which mean an address, and for a host
 * that is not valid. Takes time for each port that rules name for this host. Throws `PolicyError`
 * with `ERR_OPTION_INVALID` for a policy that is not compiled.
 */
export function decisivePorts(policy: CompiledPolicy, host: string): readonly number[] {
  requireCompiled('policy', policy)
  const canonical = canonicalHost(host)
  if (canonical?.kind !== 'name' || isLocalhostName(canonical.name)) return []
  const { names } = policy
  const mentioned = names.sets.portsOf(names.findCanonical(canonical.name))
  const other = freePort(mentioned)
  return other === null ? [...mentioned] : [...mentioned, other]
}
