import { readAgentStatus } from '../../../packages/launcher/machine/agent-status.ts'
import { factRow, runRow, type Row } from '../rows/run-row.ts'
import type { World } from '../world/create-world.ts'
import { syncAgent } from './sync-agent.ts'

/** The server stops; decisions go on, and the status says since when it is away. */
export async function* serverAway(world: World): AsyncGenerator<Row> {
  const code = await world.server.stop()
  const stopped = { what: 'server stopped', program: 'palisade-server', target: world.server.url }
  yield factRow(
    { ...stopped, expected: 'exit 0' },
    { ok: code === 0, actual: `exit ${code}`, said: 'stopped by SIGTERM' },
  )

  yield await runRow(world, {
    what: 'server away: still allowed',
    program: 'curl',
    target: 'http://packages.demo.test:${port}/',
    expect: { decision: 'allow', reason: 'rule', rule: 'package registry' },
  })
  yield await runRow(world, {
    what: 'server away: still denied',
    program: 'curl',
    target: 'http://telemetry.apps.demo.test:${port}/',
    expect: { decision: 'deny', reason: 'rule', rule: 'no telemetry' },
  })

  const { outcome, error } = await syncAgent(world)
  const since = (await readAgentStatus(world))?.sync.failing_since ?? null
  const row = { what: 'since when the server is away', program: 'palisade', target: 'status' }
  yield factRow(
    { ...row, expected: 'a time' },
    {
      ok: outcome === 'failed' && since !== null,
      actual: since === null ? 'nothing' : 'a time',
      said: `${since}: ${error?.message}`,
    },
  )
}
