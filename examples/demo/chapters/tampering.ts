import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { readAgentStatus } from '../../../packages/launcher/machine/agent-status.ts'
import { enrolmentFile } from '../../../packages/launcher/machine/enrolment.ts'
import { LaunchError } from '../../../packages/launcher/prepare/launch-error.mjs'
import { factRow, runRow, type Row } from '../rows/run-row.ts'
import type { Cleanup, World } from '../world/create-world.ts'
import { closeServer, listen } from '../world/origins.ts'
import { createProver } from './device-proof.ts'
import { syncRow } from './live-change.ts'
import { syncAgent } from './sync-agent.ts'

/** The answers to a machine, by path. */
export type View = ReadonlyMap<string, string>

const UPDATE = '/api/v1/device/update'

/**
 * Everything that the machine would get now: the timestamp that it polls, and the update of a
 * machine without any state. Kept before the server stops.
 */
export async function fetchView(world: World): Promise<View> {
  const { server } = world
  const served = new Map<string, string>()
  const prove = createProver(`${enrolmentFile(world)}.key`)
  async function ask(path: string, init: RequestInit): Promise<string> {
    const signal = AbortSignal.timeout(10_000)
    const response = await fetch(`${server.url}${path}`, { ...init, signal })
    if (!response.ok) throw new LaunchError(`\`${path}\` was answered ${response.status}`)
    return response.text()
  }
  const tokenPath = '/api/v1/device/token'
  const proof = prove('POST', `${server.url}${tokenPath}`)
  const issued = await ask(tokenPath, { method: 'POST', headers: { dpop: proof } })
  const { access_token: token } = JSON.parse(issued) as { access_token: string }
  async function keep(path: string): Promise<string> {
    const dpop = prove('GET', `${server.url}${path}`, token)
    const headers = { authorization: `DPoP ${token}`, dpop, 'palisade-assignment-version': '0' }
    const body = await ask(path, { headers })
    served.set(path, body)
    return body
  }
  const { assignment } = JSON.parse(await keep(UPDATE)) as { assignment: string }
  const { signed } = JSON.parse(assignment) as { signed: { org: string; view: string } }
  const { org, view } = signed
  await keep(`/api/v1/orgs/${org}/views/${view}/metadata/timestamp.json`)
  return served
}

/**
 * A stranger answers on the port of the stopped server, with newer policy in which one byte is
 * changed. The control: the same policy unchanged is taken, from the same stranger, because its
 * signatures hold.
 *
 * `view` is newer than the one in force and allows `late.demo.test`.
 */
export async function* tamperedPolicy(
  world: World,
  view: View,
  cleanups: Cleanup[],
): AsyncGenerator<Row> {
  let served: View = new Map([...view].map(([path, body]) => [path, alter(body)]))
  if ([...view.values()].every((body) => alter(body) === body))
    throw new LaunchError('the policy does not hold the rule to alter')
  const stranger = createServer(({ url = '' }, response) => {
    const body = served.get(url.split('?')[0] ?? '')
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(body)
  })
  cleanups.push(() => closeServer(stranger))
  await listen(stranger, Number(new URL(world.server.url).port), '127.0.0.1')
  const late = { program: 'curl', target: 'http://late.demo.test:${port}/' } as const

  const { outcome, error } = await syncAgent(world)
  yield factRow(
    {
      what: 'policy with one byte changed',
      program: 'palisade',
      target: 'sync',
      expected: 'mixed',
    },
    {
      ok: outcome === 'failed' && error?.code === 'mixed',
      actual: error?.code ?? outcome,
      said: error?.message ?? '',
    },
  )
  yield await runRow(world, {
    ...late,
    what: 'host that only that policy allows',
    expect: { decision: 'deny', reason: 'default_deny' },
  })

  served = view
  yield await syncRow(world, 'the same policy, unchanged')
  yield await runRow(world, {
    ...late,
    what: 'host that it allows',
    expect: { decision: 'allow', reason: 'rule', rule: 'late addition' },
  })
  await closeServer(stranger)
}

/** The agent restarts, without a server, on a policy that was changed on the disk. */
export async function* tamperedCache(world: World): AsyncGenerator<Row> {
  await world.stopAgent()
  const directory = join(world.dataDir, 'agent', 'policy', 'documents')
  // The former version of a policy is kept for the other copy of the state, so it is altered, too.
  const files = readdirSync(directory)
    .map((name) => join(directory, name))
    .filter((path) => alter(readFileSync(path, 'utf8')) !== readFileSync(path, 'utf8'))
  if (files.length === 0) throw new LaunchError(`no policy to alter was kept in \`${directory}\``)
  for (const file of files) writeFileSync(file, alter(readFileSync(file, 'utf8')))
  await world.restartAgent((status) => status.sync.last_error !== null)
  const problem = (await readAgentStatus(world))?.cache_problem ?? null
  const row = { what: 'kept policy changed on the disk', program: 'palisade', target: 'status' }
  yield factRow(
    { ...row, expected: 'set aside' },
    {
      ok: problem !== null && files.some((file) => !existsSync(file)),
      actual: problem === null ? 'not noticed' : 'set aside',
      said: problem?.message ?? '',
    },
  )
  yield await runRow(world, {
    what: 'nothing in force: everything denied',
    program: 'curl',
    target: 'http://packages.demo.test:${port}/',
    expect: { decision: 'deny', reason: 'no_policy' },
    dns_queries: 'none',
  })
}

/** Changes one byte: the deny of `tracker.demo.test` would now hit another name. */
function alter(body: string): string {
  return body.replace('tracker.demo.test', 'uracker.demo.test')
}
