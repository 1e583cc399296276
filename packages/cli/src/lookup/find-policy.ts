import { ClientError, type OrganizationClient } from '@palisade/client'
import { nearestName, type DetailedPolicy, type DetailedRule } from '@palisade/protocol'
import { CliError } from '../runtime/cli-error.ts'
import { EXIT } from '../runtime/exit-code.ts'

const POLICY_ID = /^pol_[0-9a-z]{28}$/

/** Finds a policy by id, otherwise by name. Throws `ERR_NOT_FOUND`, exit 1. */
export async function findPolicy(
  organization: OrganizationClient,
  idOrName: string,
): Promise<DetailedPolicy> {
  // The id takes precedence: a policy named like another's id must not be found instead.
  if (POLICY_ID.test(idOrName)) {
    const policy = await getIfPresent(organization, idOrName)
    if (policy !== null) return policy
  }
  const wanted = idOrName.normalize('NFC').trim()
  const names: string[] = []
  for await (const summary of organization.policies.list()) {
    if (summary.name === wanted) return organization.policies.get(summary.id)
    names.push(summary.name)
  }
  throw notFound('policy', idOrName, names)
}

/** Finds a rule of `policy` by id, otherwise by name. Throws `ERR_NOT_FOUND`, exit 1. */
export function findRule(policy: DetailedPolicy, idOrName: string): DetailedRule {
  const rules = policy.allowlist_v0?.rules ?? []
  const wanted = idOrName.normalize('NFC').trim()
  const found =
    rules.find((rule) => rule.id === idOrName) ?? rules.find((rule) => rule.name === wanted)
  if (found !== undefined) return found
  throw notFound(
    'rule',
    idOrName,
    rules.map((rule) => rule.name),
  )
}

async function getIfPresent(
  organization: OrganizationClient,
  policyId: string,
): Promise<DetailedPolicy | null> {
  try {
    return await organization.policies.get(policyId)
  } catch (error) {
    if (error instanceof ClientError && error.api?.status === 404) return null
    throw error
  }
}

/** Creates `ERR_NOT_FOUND`, exit 1, which suggests the nearest name. */
export function notFound(kind: string, wanted: string, names: readonly string[]): CliError {
  const nearest = nearestName(wanted, names)
  const mend = nearest === null ? '' : `; did you mean \`${nearest}\`?`
  return new CliError('ERR_NOT_FOUND', EXIT.failed, `no ${kind} \`${wanted}\`${mend}`)
}
