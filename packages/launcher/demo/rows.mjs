import { askAgent } from './ask-agent.mjs'
import { runCurl, runGit, runNodeFetch, runPalisadeCheck } from './programs.mjs'

/** @typedef {import('./world.mjs').World} World */
/** @typedef {import('./programs.mjs').Outcome} Outcome */
/** @typedef {import('./programs.mjs').Judgement} Judgement */

/**
 * One line of the table.
 *
 * @typedef {object} Row
 * @property {string} what
 * @property {string} program
 * @property {string} target
 * @property {string} expected
 * @property {string} actual
 * @property {string} decided_by the deciding rules, else the reason
 * @property {string} said what the program showed
 * @property {boolean | null} ok null when the program is not installed
 */

/**
 * @typedef {object} DemoRequest
 * @property {string} what
 * @property {'curl' | 'git' | 'node' | 'palisade'} program
 * @property {string} [action] of a file
 * @property {string} target
 * @property {boolean} [raw]
 * @property {{ decision: 'allow' | 'deny', reason: string, rule?: string }} expect
 * @property {'none' | 'some'} [dns_queries] whether the name may, or must, be asked for
 */

const PROGRAMS = { curl: runCurl, git: runGit, node: runNodeFetch, palisade: runPalisadeCheck }

/**
 * Lets a program try, and compares what it met, whether a web server saw it, and the queries for
 * the name, with what must be.
 *
 * @param {World} world
 * @param {DemoRequest} request
 * @returns {Promise<Row>}
 */
export async function runRow(world, request) {
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

/**
 * A line about something that is not one request.
 *
 * @param {{ what: string, program: string, target: string, expected: string }} row
 * @param {{ ok: boolean, actual: string, said: string }} found
 * @returns {Row}
 */
export function factRow(row, { ok, actual, said }) {
  return { ...row, actual, decided_by: '', said, ok }
}

/**
 * @param {DemoRequest['expect']} expect
 * @param {Outcome} outcome
 * @param {Judgement} judgement
 */
function differences(expect, outcome, judgement) {
  const { decision, reason, rule } = expect
  const found = []
  if (outcome.decision !== decision) found.push(`met ${outcome.decision}`)
  if (judgement.decision !== decision || judgement.reason !== reason)
    found.push(`judged ${judgement.decision} by ${judgement.reason}`)
  if (rule !== undefined && !judgement.rules.some((each) => each.rule_name === rule))
    found.push(`rule \`${rule}\` did not decide`)
  return found
}

/**
 * @param {string} program
 * @param {Outcome} outcome
 * @param {number} hits
 */
function strayHits(program, outcome, hits) {
  if (program === 'palisade') return []
  if (outcome.decision === 'deny' && hits > 0) return ['a web server was reached all the same']
  return outcome.decision === 'allow' && hits === 0 ? ['no web server was reached'] : []
}

/**
 * @param {DemoRequest} request
 * @param {number} queries
 */
function strayQueries({ dns_queries: wanted }, queries) {
  if (wanted === 'none' && queries > 0) return [`${queries} DNS queries for the name`]
  return wanted === 'some' && queries === 0 ? ['no DNS query for the name'] : []
}

/**
 * @param {World} world
 * @param {string} target
 */
function queriesFor(world, target) {
  return URL.canParse(target) ? world.dns.queries(new URL(target).hostname) : 0
}

/**
 * @param {World} world
 * @param {DemoRequest} request
 * @param {string} target
 * @returns {Promise<Judgement>}
 */
async function judgementOf(world, request, target) {
  if (request.program === 'palisade') return { decision: 'none', reason: 'none', rules: [] }
  const url = new URL(target)
  return askAgent(world.socketPath, {
    action: 'connect:tcp',
    host: url.hostname,
    port: Number(url.port || 80),
  })
}

/** @param {Judgement} judgement */
function describe(judgement) {
  if (judgement.rules.length === 0) return judgement.reason
  return judgement.rules.map((rule) => `${rule.rule_name} (${rule.resource})`).join(', ')
}
