import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { readAgentStatus } from '../machine/agent-status.mjs'
import { LaunchError } from '../prepare/launch-error.mjs'
import { syncRow } from './chapter-live-change.mjs'
import { closeServer, listen } from './origins.mjs'
import { factRow, runRow } from './rows.mjs'
import { syncAgent } from './sync-agent.mjs'

/** @typedef {import('./rows.mjs').Row} Row */
/** @typedef {import('./world.mjs').World} World */

/**
 * The newest bundle, as the machine would get it. Kept before the server stops.
 *
 * @param {World} world
 * @returns {Promise<string>}
 */
export async function fetchBundle({ server, enrolment }) {
  const response = await fetch(`${server.url}/api/v1/device/bundle`, {
    headers: { authorization: `Bearer ${enrolment.device_token}` },
    signal: AbortSignal.timeout(10_000),
  })
  if (!response.ok) throw new LaunchError(`the bundle was answered ${response.status}`)
  return response.text()
}

/**
 * Somebody else answers on the server's port, with a newer bundle in which one byte is changed. The
 * control: the same bundle unchanged is taken, from the same stranger, because its signature holds.
 *
 * @param {World} world whose server has stopped
 * @param {string} bundle newer than the one in force; allows `late.demo.test`
 * @param {(() => Promise<unknown>)[]} cleanups
 * @returns {AsyncGenerator<Row>}
 */
export async function* tamperedBundle(world, bundle, cleanups) {
  let served = alterPayload(bundle)
  const stranger = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/jose', etag: '"stranger"' }).end(served)
  })
  cleanups.push(() => closeServer(stranger))
  await listen(stranger, Number(new URL(world.server.url).port), '127.0.0.1')
  const late = { program: /** @type {const} */ ('curl'), target: 'http://late.demo.test:${port}/' }

  const { outcome, error } = await syncAgent(world)
  yield factRow(
    {
      what: 'bundle with one byte changed',
      program: 'palisade',
      target: 'sync',
      expected: 'bad_signature',
    },
    {
      ok: outcome === 'failed' && error?.code === 'bad_signature',
      actual: error?.code ?? outcome,
      said: error?.message ?? '',
    },
  )
  yield await runRow(world, {
    ...late,
    what: 'host that only that bundle allows',
    expect: { decision: 'deny', reason: 'default_deny' },
  })

  served = bundle
  yield await syncRow(world, 'the same bundle, unchanged')
  yield await runRow(world, {
    ...late,
    what: 'host that it allows',
    expect: { decision: 'allow', reason: 'rule', rule: 'late addition' },
  })
  await closeServer(stranger)
}

/**
 * The agent restarts, without a server, on a bundle that somebody changed on the disk.
 *
 * @param {World} world
 * @returns {AsyncGenerator<Row>}
 */
export async function* tamperedCache(world) {
  await world.stopAgent()
  const file = join(world.dataDir, 'agent', 'bundle.jws')
  if (!existsSync(file)) throw new LaunchError(`no bundle was kept at \`${file}\``)
  writeFileSync(file, alterPayload(readFileSync(file, 'utf8').trim()))
  await world.restartAgent((status) => status.sync.last_error !== null)
  const problem = (await readAgentStatus(world))?.cache_problem ?? null
  const row = { what: 'kept bundle changed on the disk', program: 'palisade', target: 'status' }
  yield factRow(
    { ...row, expected: 'set aside' },
    {
      ok: problem !== null && !existsSync(file),
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
 * Changes one byte of what is signed: the deny of `tracker.demo.test` would now hit another name.
 *
 * @param {string} bundle compact JWS
 */
function alterPayload(bundle) {
  const [header = '', payload = '', signature = ''] = bundle.split('.')
  const text = Buffer.from(payload, 'base64url').toString('utf8')
  const altered = text.replace('tracker.demo.test', 'uracker.demo.test')
  if (altered === text) throw new LaunchError('the bundle does not hold the rule to alter')
  return [header, Buffer.from(altered).toString('base64url'), signature].join('.')
}
