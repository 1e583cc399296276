import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { enrolmentFile } from '../machine/enrolment.ts'
import { readAgentStatus } from '../machine/agent-status.ts'
import { LaunchError } from '../prepare/launch-error.mjs'
import { syncRow } from './chapter-live-change.mjs'
import { createProver } from './device-proof.mjs'
import { closeServer, listen } from './origins.mjs'
import { factRow, runRow } from './rows.mjs'
import { syncAgent } from './sync-agent.mjs'

/** @typedef {import('./rows.mjs').Row} Row */
/** @typedef {import('./world.mjs').World} World */

/** @typedef {Map<string, string>} View the answers to a machine, by path */

const UPDATE = '/api/v1/device/update'

/**
 * Everything that the machine would get now: the timestamp that it polls, and the update of a
 * machine that has nothing. Kept before the server stops.
 *
 * @param {World} world
 * @returns {Promise<View>}
 */
export async function fetchView(world) {
  const { server } = world
  /** @type {View} */
  const served = new Map()
  const prove = createProver(`${enrolmentFile(world)}.key`)
  /**
   * @param {string} path
   * @param {RequestInit} init
   */
  async function ask(path, init) {
    const signal = AbortSignal.timeout(10_000)
    const response = await fetch(`${server.url}${path}`, { ...init, signal })
    if (!response.ok) throw new LaunchError(`\`${path}\` was answered ${response.status}`)
    return response.text()
  }
  const tokenPath = '/api/v1/device/token'
  const proof = prove('POST', `${server.url}${tokenPath}`)
  const issued = await ask(tokenPath, { method: 'POST', headers: { dpop: proof } })
  /** @type {string} */
  const token = JSON.parse(issued).access_token
  /** @param {string} path */
  async function keep(path) {
    const dpop = prove('GET', `${server.url}${path}`, token)
    const headers = { authorization: `DPoP ${token}`, dpop, 'palisade-assignment-version': '0' }
    const body = await ask(path, { headers })
    served.set(path, body)
    return JSON.parse(body)
  }
  const { assignment } = await keep(UPDATE)
  const { org, view } = JSON.parse(assignment).signed
  await keep(`/api/v1/orgs/${org}/views/${view}/metadata/timestamp.json`)
  return served
}

/**
 * Somebody else answers on the server's port, with newer policy in which one byte is changed. The
 * control: the same unchanged is taken, from the same stranger, because its signatures hold.
 *
 * @param {World} world whose server has stopped
 * @param {View} view newer than the one in force; allows `late.demo.test`
 * @param {(() => Promise<unknown>)[]} cleanups
 * @returns {AsyncGenerator<Row>}
 */
export async function* tamperedPolicy(world, view, cleanups) {
  let served = new Map([...view].map(([path, body]) => [path, alter(body)]))
  if ([...view.values()].every((body) => alter(body) === body))
    throw new LaunchError('the policy does not hold the rule to alter')
  const stranger = createServer(({ url = '' }, response) => {
    const body = served.get(url.split('?')[0] ?? '')
    response.writeHead(body === undefined ? 404 : 200, { 'content-type': 'application/json' })
    response.end(body)
  })
  cleanups.push(() => closeServer(stranger))
  await listen(stranger, Number(new URL(world.server.url).port), '127.0.0.1')
  const late = { program: /** @type {const} */ ('curl'), target: 'http://late.demo.test:${port}/' }

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

/**
 * The agent restarts, without a server, on a policy that somebody changed on the disk.
 *
 * @param {World} world
 * @returns {AsyncGenerator<Row>}
 */
export async function* tamperedCache(world) {
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

/**
 * Changes one byte: the deny of `tracker.demo.test` would now hit another name.
 *
 * @param {string} body
 */
function alter(body) {
  return body.replace('tracker.demo.test', 'uracker.demo.test')
}
