import type { Machine } from '../machine.ts'
import { firstPolicy, openOrganization } from '../organization.ts'

/** A rule of the first policy that allows the target of all tunnels. */
export interface LoopbackRule {
  remove(): Promise<void>
}

export async function addLoopbackRule(
  machine: Pick<Machine, 'server' | 'owner'>,
  names: readonly string[] = [],
): Promise<LoopbackRule> {
  const organization = openOrganization(machine)
  const policy = await firstPolicy(organization)
  const rule = await organization.rules.add(policy, {
    name: 'tunnels',
    decision: 'allow',
    actions: ['connect:tcp'],
    resources: ['127.0.0.1', ...names],
  })
  return {
    async remove() {
      await organization.rules.delete(policy, rule.id)
    },
  }
}
