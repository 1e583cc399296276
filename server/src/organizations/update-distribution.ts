import { checkRule } from '@palisade/policy-core'
import type { ChangedDistributionSettings, DistributionSettings } from '@palisade/protocol'
import { isDeepStrictEqual } from 'node:util'
import { invalidArgument } from '../platform/api-error.ts'
import type { StoreWriter } from '../store/store.ts'

/**
 * Changes the given settings; an equal value is not written. Throws ApiError 400 for settings that
 * machines would refuse: one host that does not compile would keep them from every policy.
 */
export async function updateDistribution(
  writer: StoreWriter,
  org: string,
  changed: ChangedDistributionSettings,
): Promise<DistributionSettings> {
  const before = await writer.organizations.distribution(org)
  const after = { ...before, ...changed }
  requireOrder(after)
  requireHosts(after)
  if (!isDeepStrictEqual(before, after)) await writer.organizations.updateDistribution(org, after)
  return after
}

function requireOrder({ fresh_for_seconds, expires_after_seconds }: DistributionSettings): void {
  if (expires_after_seconds >= fresh_for_seconds) return
  throw invalidArgument('`expires_after_seconds` must not be less than `fresh_for_seconds`', {
    field: 'distribution.expires_after_seconds',
  })
}

function requireHosts({ offline_allow: resources }: DistributionSettings): void {
  if (resources.length === 0) return
  const actions = ['connect:tcp', 'connect:udp'] as const
  const [problem] = checkRule({ actions, decision: 'allow', resources })
  if (problem === undefined) return
  const field = `distribution.${problem.member.replace('resources', 'offline_allow')}`
  throw invalidArgument(problem.message, { field })
}
