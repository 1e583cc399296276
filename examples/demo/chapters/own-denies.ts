import { runPalisade } from '../../../packages/launcher/machine/agent-status.ts'
import { factRow, runRow, type Row } from '../rows/run-row.ts'
import type { World } from '../world/create-world.ts'

const OWN = 'packages.demo.test'

/** The members of a decision record that we read. */
interface Denial {
  readonly decision: {
    readonly rules: readonly { readonly rule_name: string }[]
    readonly hint: string | null
  }
}

/** The user of the machine denies a host, looks the denial up, and ends the deny. */
export async function* ownDenies(world: World): AsyncGenerator<Row> {
  const request = { program: 'curl', target: 'http://packages.demo.test:${port}/' } as const

  yield await changeOwn(world, 'deny', 'denied')
  const denied = { decision: 'deny', reason: 'rule', rule: OWN } as const
  yield await runRow(world, {
    ...request,
    what: 'allowed host, denied by a local rule',
    expect: denied,
  })
  yield await lastDenial(world, '`palisade why`: the rule', OWN)

  yield await changeOwn(world, 'undeny', 'no longer denied by a local rule')
  const allowed = { decision: 'allow', reason: 'rule', rule: 'package registry' } as const
  yield await runRow(world, { ...request, what: 'allowed as before', expect: allowed })

  const target = 'http://unlisted.demo.test:${port}/'
  const unlisted = { decision: 'deny', reason: 'default_deny' } as const
  yield await runRow(world, { ...request, what: 'host of no rule', target, expect: unlisted })
  const { host } = new URL(world.fill(target))
  yield await lastDenial(
    world,
    '`palisade why`: a rule that would allow it',
    `allow connect:tcp ${host}`,
  )
}

async function changeOwn(world: World, command: 'deny' | 'undeny', says: string): Promise<Row> {
  const run = await runPalisade(world, [command, OWN])
  const row = { what: `\`palisade ${command}\``, program: 'palisade', target: OWN }
  return factRow(
    { ...row, expected: 'exit 0' },
    {
      ok: run.code === 0 && run.stdout.startsWith(`${says}  `),
      actual: `exit ${run.code}`,
      said: run.output.trim(),
    },
  )
}

/** The last denial, after one of curl; `named` is its rule, or else its hint. */
async function lastDenial(world: World, what: string, named: string): Promise<Row> {
  const row = { what, program: 'palisade', target: 'why', expected: 'named' }
  if (!world.installed.has('curl'))
    return { ...row, actual: 'skipped', decided_by: '', said: 'curl is not installed', ok: null }
  const run = await runPalisade(world, ['why', '--json'])
  const { denial } = JSON.parse(run.stdout || '{"denial":null}') as { denial: Denial | null }
  const found = denial === null ? 'no denial' : decidedBy(denial)
  const ok = found === named
  return factRow(row, { ok, actual: ok ? 'named' : 'not named', said: found })
}

function decidedBy({ decision: { rules, hint } }: Denial): string {
  return rules[0]?.rule_name ?? hint ?? 'no rule and no hint'
}
