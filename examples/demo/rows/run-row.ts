import type { World } from '../world/create-world.ts'
import { askAgent } from './ask-agent.ts'
import {
  runCurl,
  runGit,
  runNodeFetch,
  runPalisadeCheck,
  type Judgement,
  type Outcome,
  type Transfer,
} from './programs.ts'

/** The left half of a line: the attempt, and its expected result. */
export interface Attempt {
  readonly what: string
  readonly program: string
  readonly target: string
  readonly expected: string
}

/** One line of the table. */
export interface Row extends Attempt {
  readonly actual: string
  /** The deciding rules, else the reason. */
  readonly decided_by: string
  /** The program's own output, in short. */
  readonly said: string
  /** Null when the program is not installed. */
  readonly ok: boolean | null
}

export interface DemoRequest extends Transfer {
  readonly what: string
  readonly program: 'curl' | 'git' | 'node' | 'palisade'
  /** Of a file. */
  readonly action?: string
  readonly expect: Expectation
  /** Whether the name may, or must, be asked for. */
  readonly dns_queries?: 'none' | 'some'
}

interface Expectation {
  readonly decision: 'allow' | 'deny'
  readonly reason: string
  readonly rule?: string
}

const PROGRAMS = { curl: runCurl, git: runGit, node: runNodeFetch, palisade: runPalisadeCheck }

/**
 * Lets a program try, and compares its outcome, the hits of the web servers and the queries for the
 * name with the expectation.
 */
export async function runRow(world: World, request: DemoRequest): Promise<Row> {
  const target = world.fill(request.target)
  const { what, program, expect } = request
  const expected = `${expect.decision}, ${expect.rule ?? expect.reason}`
  const row = { what, program, target, expected }
  if (!world.installed.has(program))
    return {
      ...row,
      actual: 'skipped',
      decided_by: '',
      said: `${program} is not installed`,
      ok: null,
    }
  const before = { hits: world.origins.hits(), queries: queriesFor(world, target) }
  const outcome = await PROGRAMS[program](world, { ...request, target })
  const judgement = outcome.judgement ?? (await judgementOf(world, request, target))
  const hits = world.origins.hits() - before.hits
  const queries = queriesFor(world, target) - before.queries
  const wrong = [
    ...differences(expect, outcome, judgement),
    ...strayHits(program, outcome, hits),
    ...strayQueries(request, queries),
  ]
  return {
    ...row,
    actual: outcome.decision,
    decided_by: describe(judgement),
    said: [outcome.said, ...wrong].join('; '),
    ok: wrong.length === 0,
  }
}

/** A line about something that is not one request. */
export function factRow(
  attempt: Attempt,
  { ok, actual, said }: { ok: boolean; actual: string; said: string },
): Row {
  return { ...attempt, actual, decided_by: '', said, ok }
}

function differences(expect: Expectation, outcome: Outcome, judgement: Judgement): string[] {
  const { decision, reason, rule } = expect
  const found: string[] = []
  if (outcome.decision !== decision) found.push(`met ${outcome.decision}`)
  if (judgement.decision !== decision || judgement.reason !== reason)
    found.push(`judged ${judgement.decision} by ${judgement.reason}`)
  if (rule !== undefined && !judgement.rules.some((each) => each.rule_name === rule))
    found.push(`rule \`${rule}\` did not decide`)
  return found
}

function strayHits(program: string, outcome: Outcome, hits: number): string[] {
  if (program === 'palisade') return []
  if (outcome.decision === 'deny' && hits > 0) return ['a web server was reached all the same']
  return outcome.decision === 'allow' && hits === 0 ? ['no web server was reached'] : []
}

function strayQueries({ dns_queries: wanted }: DemoRequest, queries: number): string[] {
  if (wanted === 'none' && queries > 0) return [`${queries} DNS queries for the name`]
  return wanted === 'some' && queries === 0 ? ['no DNS query for the name'] : []
}

function queriesFor(world: World, target: string): number {
  return URL.canParse(target) ? world.dns.queries(new URL(target).hostname) : 0
}

async function judgementOf(world: World, request: DemoRequest, target: string): Promise<Judgement> {
  if (request.program === 'palisade') return { decision: 'none', reason: 'none', rules: [] }
  const url = new URL(target)
  return askAgent(world.socketPath, {
    action: 'connect:tcp',
    host: url.hostname,
    port: Number(url.port || 80),
  })
}

function describe(judgement: Judgement): string {
  if (judgement.rules.length === 0) return judgement.reason
  return judgement.rules.map((rule) => `${rule.rule_name} (${rule.resource})`).join(', ')
}
