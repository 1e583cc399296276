import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { quantile } from '../../measure/quantile.ts'
import { rangeOf, type Range } from '../../measure/range.ts'
import { startServer } from '../../server/cases/request-rows.ts'
import { startAgent, type MeasuredAgent } from '../agent-process.ts'
import { startDecisionClock, type DecisionClock } from '../decision-clock.ts'
import { fillLargeUpdate } from '../large-update.ts'
import { ALLOWED, copyMachine, moveServer, type Machine } from '../machine.ts'
import { startRelay, type Relay } from '../relay.ts'

export interface UpdatesOptions {
  readonly rounds: number
  /** From the start of the agent to the first decision that is counted. */
  readonly warmMs: number
  readonly restMs: number
  /**
   * How long the agent requests updates that arrive in chunks of one byte, without a pause between
   * them.
   */
  readonly chunkedMs: number
}

/**
 * Milliseconds from request to complete response. Quantiles of one round, as ranges over the
 * rounds.
 */
export interface Latencies {
  readonly p50: Range
  readonly p99: Range
  readonly max: Range
  /** Total over all rounds. */
  readonly decisions: number
}

export interface UpdatesResult {
  readonly rest: Latencies
  readonly chunked: Latencies
  readonly large: Latencies
  /** From requesting the large update until it is in force. */
  readonly took_ms: Range
  /** Number of rules that the large update adds. */
  readonly rules: number
}

interface Round {
  readonly rest: readonly number[]
  readonly chunked: readonly number[]
  readonly large: readonly number[]
  readonly tookMs: number
}

/**
 * Requests a decision from the local API every five milliseconds, whether or not earlier ones have
 * been answered: at rest, while the server sends updates in chunks of one byte, and while the agent
 * fetches, verifies and compiles 25,000 rules.
 */
export async function measureUpdates(
  { dataDir, serverDir }: Machine,
  folder: string,
  options: UpdatesOptions,
): Promise<UpdatesResult> {
  const largeDir = join(folder, 'large-server')
  cpSync(serverDir, largeDir, { recursive: true })
  const { rules, newlyAllowed } = await fillLargeUpdate(largeDir)
  const server = await startServer(largeDir)
  const relay = await startRelay(server.port)
  try {
    const rounds: Round[] = []
    for (let n = 0; n < options.rounds; n += 1) {
      const machine = copyMachine(dataDir, join(folder, `updates-${n}`))
      moveServer(machine, relay.url)
      relay.answer('not at all')
      const agent = await startAgent(machine, ALLOWED, { PALISADE_HINTS: 'off' })
      const clock = await startDecisionClock(agent.socketPath, ALLOWED)
      try {
        rounds.push(await measureRound({ agent, clock, relay, newlyAllowed }, options))
      } finally {
        await clock.stop()
        await agent.stop()
      }
    }
    return {
      rest: describe(rounds.map(({ rest }) => rest)),
      chunked: describe(rounds.map(({ chunked }) => chunked)),
      large: describe(rounds.map(({ large }) => large)),
      took_ms: rangeOf(rounds.map(({ tookMs }) => tookMs)),
      rules,
    }
  } finally {
    await relay.stop()
    await server.stop()
  }
}

interface Scene {
  readonly agent: MeasuredAgent
  readonly clock: DecisionClock
  readonly relay: Relay
  /** A request that is denied until the large update is in force. */
  readonly newlyAllowed: object
}

async function measureRound(
  { agent, clock, relay, newlyAllowed }: Scene,
  { warmMs, restMs, chunkedMs }: UpdatesOptions,
): Promise<Round> {
  await setTimeout(warmMs)
  await clock.take()
  await setTimeout(restMs)
  const rest = await clock.take()

  relay.answer('in chunks of one byte')
  const untilMs = performance.now() + chunkedMs
  while (performance.now() < untilMs) await expectOutcome(agent, 'failed')
  const chunked = await clock.take()
  if (relay.chunkedAnswers() === 0) throw new Error('no update arrived in chunks')

  relay.answer('as it is')
  const askedMs = performance.now()
  await expectOutcome(agent, 'updated')
  const tookMs = performance.now() - askedMs
  const large = await clock.take()
  if ((await agent.decide(newlyAllowed)) !== 'allow')
    throw new Error('the large update is not in force')
  return { rest, chunked, large, tookMs }
}

async function expectOutcome(agent: MeasuredAgent, expected: string): Promise<void> {
  const outcome = await agent.sync()
  if (outcome !== expected) throw new Error(`an update ended with \`${outcome}\``)
}

function describe(rounds: readonly (readonly number[])[]): Latencies {
  const rangeAt = (q: number): Range => rangeOf(rounds.map((values) => quantile(values, q)))
  return {
    p50: rangeAt(0.5),
    p99: rangeAt(0.99),
    max: rangeAt(1),
    decisions: rounds.reduce((sum, { length }) => sum + length, 0),
  }
}
