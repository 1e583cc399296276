import { factRow, runRow, type Row } from '../rows/run-row.ts'
import type { Administrator, AppliedPolicy } from '../world/administration.ts'
import type { World } from '../world/create-world.ts'
import { openTunnel } from './open-tunnel.ts'
import { syncAgent } from './sync-agent.ts'

/** A rule is turned from allow to deny while everything runs and a tunnel is open, and back. */
export async function* liveChange(
  world: World,
  administrator: Administrator,
  policy: AppliedPolicy,
): AsyncGenerator<Row> {
  const ruleId = policy.rules.get('package registry') ?? ''
  const request = { program: 'curl', target: 'http://packages.demo.test:${port}/' } as const
  const rule = 'package registry'

  const tunnel = await openTunnel(world, new URL(world.fill(request.target)).host)
  await administrator.changeRule(policy.id, ruleId, { decision: 'deny' })
  yield await syncRow(world, 'rule turned to deny, fetched')
  yield await tunnel.closedRow()
  tunnel.close()
  const denied = { decision: 'deny', reason: 'rule', rule } as const
  yield await runRow(world, { ...request, what: 'allowed host, now denied', expect: denied })

  await administrator.changeRule(policy.id, ruleId, { decision: 'allow' })
  yield await syncRow(world, 'rule turned back, fetched')
  const allowed = { decision: 'allow', reason: 'rule', rule } as const
  yield await runRow(world, { ...request, what: 'allowed again', expect: allowed })
}

export async function syncRow(world: World, what: string): Promise<Row> {
  const result = await syncAgent(world)
  const ok = result.outcome === 'updated'
  const why = result.error === null ? '' : `; ${result.error.message}`
  const said = `revision ${result.revision}${why}`
  const row = { what, program: 'palisade', target: 'sync', expected: 'updated' }
  return factRow(row, { ok, actual: result.outcome, said })
}
