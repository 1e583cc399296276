import { LaunchError } from '../../packages/launcher/prepare/launch-error.mjs'
import { inSandbox } from './chapters/in-sandbox.ts'
import { liveChange, syncRow } from './chapters/live-change.ts'
import { ownDenies } from './chapters/own-denies.ts'
import { serverAway } from './chapters/server-away.ts'
import { fetchView, tamperedCache, tamperedPolicy } from './chapters/tampering.ts'
import { runRow, type DemoRequest, type Row } from './rows/run-row.ts'
import { formatHeading, formatRow, formatSummary } from './rows/table.ts'
import { signIn, type PolicyFile } from './world/administration.ts'
import {
  createWorld,
  readExample,
  type Cleanup,
  type Given,
  type World,
} from './world/create-world.ts'

export interface DemoOptions extends Given {
  /** Prints the rows as JSON and no other text. */
  readonly json: boolean
}

interface Output {
  show(row: Row): void
  print(text: string): void
}

const FOREWORD = `
Real programs go through the agent's proxy to web servers on 127.0.10.x and 127.0.20.x. Loopback
addresses are protected, so the policy opens exactly the addresses that it needs.

`

/**
 * Runs the worked example and takes everything down again, whatever happens. Returns the exit code:
 * 0 when every row came out as expected.
 */
export async function runDemo({ root, node, env, json }: DemoOptions): Promise<number> {
  const startedMs = Date.now()
  const cleanups: Cleanup[] = []
  const rows: Row[] = []
  const print = (text: string) => process.stdout.write(json ? '' : text)
  const interruption = listenForSignals()
  const show = (row: Row) => {
    // Programs whose world is being taken down meet nonsense; the played part ends here.
    interruption.signal.throwIfAborted()
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

async function play(given: Given, cleanups: Cleanup[], { show, print }: Output): Promise<void> {
  const world = await createWorld(given, cleanups)
  print(FOREWORD)
  for (const program of world.missing) print(`skipped: ${program} is not installed\n`)
  print(formatHeading())

  const administrator = await signIn(world.server.url, world.credentials)
  const network = await administrator.applyPolicy(readPolicy(world, 'network.json'))
  await administrator.applyPolicy(readPolicy(world, 'filesystem.json'))
  show(await syncRow(world, 'policies written over HTTP, fetched'))
  const requests = readExample(world.root, 'requests.json') as readonly DemoRequest[]
  for (const request of requests) show(await runRow(world, request))
  for await (const row of liveChange(world, administrator, network)) show(row)
  for await (const row of ownDenies(world)) show(row)
  for await (const row of inSandbox(world, administrator)) show(row)

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

function readPolicy(world: World, name: string): PolicyFile {
  return JSON.parse(world.fill(JSON.stringify(readExample(world.root, name)))) as PolicyFile
}

function listenForSignals(): AbortController {
  const controller = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
    process.on(signal, () => controller.abort(new LaunchError(`ended by ${signal}`, 130)))
  return controller
}

function rejectWhenAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

async function cleanUp(cleanups: Cleanup[]): Promise<void> {
  for (let step = cleanups.pop(); step !== undefined; step = cleanups.pop())
    await step().catch((error: unknown) =>
      process.stderr.write(`palisade: cleaning up: ${String(error)}\n`),
    )
}
