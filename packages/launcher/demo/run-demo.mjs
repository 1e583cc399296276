import { LaunchError } from '../prepare/launch-error.mjs'
import { signIn } from './administration.mjs'
import { liveChange, syncRow } from './chapter-live-change.mjs'
import { serverAway } from './chapter-server-away.mjs'
import { fetchView, tamperedCache, tamperedPolicy } from './chapter-tampering.mjs'
import { runRow } from './rows.mjs'
import { formatHeading, formatRow, formatSummary } from './table.mjs'
import { createWorld, readExample } from './world.mjs'

/** @typedef {import('./rows.mjs').Row} Row */

const FOREWORD = `
Real programs go through the agent's proxy to web servers on 127.0.10.x and 127.0.20.x. Loopback
addresses are protected, so the policy opens exactly the addresses that it needs.

`

/**
 * Runs the worked example and takes everything down again, whatever happens.
 *
 * @param {{ root: string, node: string, env: NodeJS.ProcessEnv, json: boolean }} options
 * @returns {Promise<number>} 0 when every row came out as expected
 */
export async function runDemo({ root, node, env, json }) {
  const startedMs = Date.now()
  const cleanups = /** @type {(() => Promise<unknown>)[]} */ ([])
  const rows = /** @type {Row[]} */ ([])
  const print = (/** @type {string} */ text) => process.stdout.write(json ? '' : text)
  const interruption = listenForSignals()
  const show = (/** @type {Row} */ row) => {
    // Programs whose world is being taken down meet nonsense; the played part ends here.
    if (interruption.signal.aborted) throw interruption.signal.reason
    rows.push(row)
    print(formatRow(row, process.stdout.isTTY))
  }
  const played = play({ root, node, env }, cleanups, { show, print })
  try {
    await Promise.race([played, rejectWhenAborted(interruption.signal)])
  } finally {
    await cleanUp(cleanups)
    await played.catch(() => {})
    await cleanUp(cleanups)
  }
  print(formatSummary(rows, Date.now() - startedMs))
  if (json) process.stdout.write(`${JSON.stringify(rows, null, 2)}\n`)
  return rows.every((row) => row.ok !== false) ? 0 : 1
}

/**
 * @param {{ root: string, node: string, env: NodeJS.ProcessEnv }} given
 * @param {(() => Promise<unknown>)[]} cleanups
 * @param {{ show: (row: Row) => void, print: (text: string) => void }} output
 */
async function play(given, cleanups, { show, print }) {
  const world = await createWorld(given, cleanups)
  print(FOREWORD)
  for (const program of world.missing) print(`skipped: ${program} is not installed\n`)
  print(formatHeading())

  const administrator = await signIn(world.server.url, world.credentials)
  const network = await administrator.applyPolicy(readPolicy(world, 'network.json'))
  await administrator.applyPolicy(readPolicy(world, 'filesystem.json'))
  show(await syncRow(world, 'policies written over HTTP, fetched'))
  for (const request of readExample(world.root, 'requests.json')) show(await runRow(world, request))
  for await (const row of liveChange(world, administrator, network)) show(row)

  await administrator.addRule(network.id, LATE_RULE)
  const newer = await fetchView(world)
  for await (const row of serverAway(world)) show(row)
  for await (const row of tamperedPolicy(world, newer, cleanups)) show(row)
  for await (const row of tamperedCache(world)) show(row)
}

const LATE_RULE = {
  name: 'late addition',
  actions: ['connect:tcp'],
  decision: 'allow',
  resources: ['late.demo.test'],
}

/**
 * @param {import('./world.mjs').World} world
 * @param {string} name
 * @returns {import('./administration.mjs').PolicyFile}
 */
function readPolicy(world, name) {
  return JSON.parse(world.fill(JSON.stringify(readExample(world.root, name))))
}

function listenForSignals() {
  const controller = new AbortController()
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']))
    process.on(signal, () => controller.abort(new LaunchError(`ended by ${signal}`, 130)))
  return controller
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<never>}
 */
function rejectWhenAborted(signal) {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

/** @param {(() => Promise<unknown>)[]} cleanups */
async function cleanUp(cleanups) {
  for (let step = cleanups.pop(); step !== undefined; step = cleanups.pop())
    await step().catch((/** @type {unknown} */ error) =>
      process.stderr.write(`palisade: cleaning up: ${String(error)}\n`),
    )
}
