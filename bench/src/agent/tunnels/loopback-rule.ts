import { createServerClient } from '../../../../packages/client/src/index.ts'
import { ORG, type Machine } from '../machine.ts'

/** A rule of the first policy that allows the target of all tunnels. */
export interface LoopbackRule {
  remove(): Promise<void>
}

export async function addLoopbackRule({ server, owner }: Machine): Promise<LoopbackRule> {
  const { policies, rules } = createServerClient({
    server: `http://127.0.0.1:${server.port}`,
    credentials: { username: owner.username, secret: owner.token },
  }).organization(ORG)
  for await (const { id } of policies.list({ pageSize: 1 })) {
    const rule = await rules.add(id, {
      name: 'tunnels',
      decision: 'allow',
      actions: ['connect:tcp'],
      resources: ['127.0.0.1'],
    })
    return {
      async remove() {
        await rules.delete(id, rule.id)
      },
    }
  }
  throw new Error('the organization has no policy')
}
