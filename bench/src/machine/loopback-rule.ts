import type { Machine } from './machine.ts'

/** A rule of the first policy that allows the target of all tunnels. */
export interface LoopbackRule {
  remove(): Promise<void>
}

export async function addLoopbackRule(
  { organization }: Machine,
  names: readonly string[] = [],
): Promise<LoopbackRule> {
  const { policies, rules } = organization
  const { value: first } = await policies.list({ pageSize: 1 })[Symbol.asyncIterator]().next()
  if (first === undefined) throw new Error('the organization has no policy')
  const rule = await rules.add(first.id, {
    name: 'tunnels',
    decision: 'allow',
    actions: ['connect:tcp'],
    resources: ['127.0.0.1', ...names],
  })
  return {
    async remove() {
      await rules.delete(first.id, rule.id)
    },
  }
}
