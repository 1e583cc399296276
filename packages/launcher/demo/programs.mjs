import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runPalisade } from '../machine/agent-status.ts'
import { captureChild } from '../process/capture-child.mjs'
import { REPOSITORY_TEXT } from './git-repository.mjs'
import { ORIGIN_MARK } from './origins.mjs'

/**
 * What a program met, told from its own output alone.
 *
 * @typedef {object} Outcome
 * @property {'allow' | 'deny' | 'error'} decision
 * @property {string} said what in its output says so
 * @property {Judgement | null} judgement the decision object, where the program shows it
 */

/**
 * The members of a decision object that we read.
 *
 * @typedef {object} Judgement
 * @property {string} decision
 * @property {string} reason
 * @property {readonly { rule_name: string, resource: string }[]} rules
 */

/** @typedef {import('./world.mjs').World} World */

/**
 * @param {World} world
 * @param {{ target: string, raw?: boolean }} request `raw` sends the target as it is written
 * @returns {Promise<Outcome>}
 */
export async function runCurl(world, { target, raw = false }) {
  const asWritten = ['--request-target', target, '--header', `Host: ${hostOf(target)}`]
  const url = raw ? 'http://raw.demo.test/' : target
  const args = ['--disable', '--silent', '--show-error', '--max-time', '10', '--noproxy', '']
  args.push(
    '--proxy',
    world.proxy(),
    '--write-out',
    '\n%{http_code}',
    ...(raw ? asWritten : []),
    url,
  )
  const run = await captureChild('curl', args, { cwd: world.folder, env: world.env })
  const end = run.stdout.lastIndexOf('\n')
  const status = run.stdout.slice(end + 1)
  return readAnswer(status, run.stdout.slice(0, Math.max(end, 0)), run.stderr)
}

/**
 * @param {string} status
 * @param {string} body
 * @param {string} stderr
 * @returns {Outcome}
 */
function readAnswer(status, body, stderr) {
  if (status === '200' && body.startsWith(ORIGIN_MARK))
    return { decision: 'allow', said: `200 ${body.trim()}`, judgement: null }
  const judgement = status === '403' ? parseJudgement(body) : null
  if (judgement?.decision === 'deny') return { decision: 'deny', said: '403', judgement }
  return { decision: 'error', said: `${status} ${stderr.trim() || body.trim()}`, judgement: null }
}

/** Prints what fetch met; a refused tunnel is an error whose causes name the status. */
const FETCH_SCRIPT = `
const causes = (error) => error === undefined ? [] : [String(error.message), ...causes(error.cause)]
try {
  const response = await fetch(process.argv[1], { signal: AbortSignal.timeout(10_000) })
  console.log(JSON.stringify({ status: response.status, body: await response.text() }))
} catch (error) {
  console.log(JSON.stringify({ causes: causes(error) }))
}`

/**
 * Node's fetch opens a tunnel through its proxy, also for plain HTTP.
 *
 * @param {World} world
 * @param {{ target: string }} request
 * @returns {Promise<Outcome>}
 */
export async function runNodeFetch(world, { target }) {
  const proxied = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: world.proxy(), HTTPS_PROXY: world.proxy() }
  const env = { ...world.env, ...proxied, NO_PROXY: '' }
  const args = ['--input-type=module', '--eval', FETCH_SCRIPT, target]
  const run = await captureChild(world.node, args, { cwd: world.folder, env })
  const met = JSON.parse(run.stdout || '{"causes":["no output"]}')
  if (met.status !== undefined) return readAnswer(String(met.status), met.body, run.stderr)
  const causes = /** @type {string[]} */ (met.causes)
  const refused = causes.some((cause) => /\b403\b/.test(cause))
  return { decision: refused ? 'deny' : 'error', said: causes.join(': '), judgement: null }
}

/**
 * @param {World} world
 * @param {{ target: string }} request
 * @returns {Promise<Outcome>}
 */
export async function runGit(world, { target }) {
  const clone = mkdtempSync(join(world.folder, 'clone-'))
  const args = ['-c', `http.proxy=${world.proxy()}`, 'clone', '--quiet', target, clone]
  const run = await captureChild('git', args, { cwd: world.folder, env: world.env })
  if (run.code === 0 && readFileSync(join(clone, 'README'), 'utf8') === REPOSITORY_TEXT)
    return { decision: 'allow', said: 'cloned', judgement: null }
  const refused = run.code !== 0 && /\berror: 403\b/.test(run.stderr)
  return { decision: refused ? 'deny' : 'error', said: run.output.trim(), judgement: null }
}

/**
 * @param {World} world
 * @param {{ action?: string, target: string }} request
 * @returns {Promise<Outcome>}
 */
export async function runPalisadeCheck(world, { action = 'read', target }) {
  const run = await runPalisade(world, ['check', action, target, '--json'])
  const judgement = parseJudgement(run.stdout)
  const decision = run.code === 0 ? 'allow' : run.code === 1 ? 'deny' : 'error'
  if (judgement?.decision === decision) return { decision, said: `exit ${run.code}`, judgement }
  return { decision: 'error', said: `exit ${run.code}: ${run.output.trim()}`, judgement: null }
}

/**
 * @param {string} text
 * @returns {Judgement | null}
 */
function parseJudgement(text) {
  try {
    const value = JSON.parse(text)
    const complete = typeof value?.reason === 'string' && Array.isArray(value?.rules)
    return complete ? value : null
  } catch {
    return null
  }
}

/** @param {string} target */
function hostOf(target) {
  return target.replace(/^http:\/\//, '').replace(/\/.*$/, '')
}
