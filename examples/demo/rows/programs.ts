import { mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runPalisade } from '../../../packages/launcher/machine/agent-status.ts'
import { captureChild } from '../../../packages/launcher/process/capture-child.mjs'
import type { World } from '../world/create-world.ts'
import { REPOSITORY_TEXT } from '../world/git-repository.ts'
import { ORIGIN_MARK } from '../world/origins.ts'

/** The experience of a program, told from its own output alone. */
export interface Outcome {
  readonly decision: 'allow' | 'deny' | 'error'
  /** The part of its output that says so. */
  readonly said: string
  /** The decision object, where the program shows it. */
  readonly judgement: Judgement | null
}

/** The members of a decision object that we read. */
export interface Judgement {
  readonly decision: string
  readonly reason: string
  readonly rules: readonly { readonly rule_name: string; readonly resource: string }[]
}

/** A transfer of curl. */
export interface Transfer {
  readonly target: string
  /** Sends the target as it is written. */
  readonly raw?: boolean
  /** Speaks SOCKS5, with the name in the request. */
  readonly socks?: boolean
  /** Opens a tunnel to this name; TLS in it still names the host of `target`. */
  readonly tunnel_to?: string
}

export async function runCurl(world: World, transfer: Transfer): Promise<Outcome> {
  const args = ['--disable', '--silent', '--show-error', '--max-time', '10', '--noproxy', '']
  args.push('--write-out', '\n%{http_code}', ...argumentsOf(transfer, world.proxy()))
  const run = await captureChild('curl', args, { cwd: world.folder, env: world.env })
  if (transfer.tunnel_to !== undefined) return readHandshake(run.stderr)
  // The reply code 2 of SOCKS5 is `connection not allowed by ruleset` (RFC 1928).
  if (transfer.socks === true && /^curl: \(97\).*\(2\)/.test(run.stderr))
    return { decision: 'deny', said: run.stderr.trim(), judgement: null }
  const end = run.stdout.lastIndexOf('\n')
  const status = run.stdout.slice(end + 1)
  return readAnswer(status, run.stdout.slice(0, Math.max(end, 0)), run.stderr)
}

function argumentsOf(transfer: Transfer, proxy: string): readonly string[] {
  const { target, raw = false, socks = false, tunnel_to: tunnel } = transfer
  if (socks) return ['--socks5-hostname', new URL(proxy).host, target]
  const byProxy = ['--proxy', proxy]
  if (tunnel !== undefined) {
    const { host, port } = new URL(target)
    return [...byProxy, '--insecure', '--connect-to', `${host}:${tunnel}:${port}`, target]
  }
  if (!raw) return [...byProxy, target]
  const asWritten = ['--request-target', target, '--header', `Host: ${hostOf(target)}`]
  return [...byProxy, ...asWritten, 'http://raw.demo.test/']
}

/** The web servers speak no TLS, so a hello that reaches one fails, but without an alert. */
function readHandshake(stderr: string): Outcome {
  const said = stderr.trim()
  const isAlert = /access (?:was )?denied/i.test(said)
  const isHandshake = said.startsWith('curl: (35)')
  const decision = isAlert ? 'deny' : isHandshake ? 'allow' : 'error'
  return { decision, said, judgement: null }
}

function readAnswer(status: string, body: string, stderr: string): Outcome {
  if (status === '200' && body.startsWith(ORIGIN_MARK))
    return { decision: 'allow', said: `200 ${body.trim()}`, judgement: null }
  const judgement = status === '403' ? parseJudgement(body) : null
  if (judgement?.decision === 'deny') return { decision: 'deny', said: '403', judgement }
  return { decision: 'error', said: `${status} ${stderr.trim() || body.trim()}`, judgement: null }
}

/** Prints a `FetchReport`; a refused tunnel is an error whose causes name the status. */
const FETCH_SCRIPT = `
const causes = (error) => error === undefined ? [] : [String(error.message), ...causes(error.cause)]
try {
  const response = await fetch(process.argv[1], { signal: AbortSignal.timeout(10_000) })
  console.log(JSON.stringify({ status: response.status, body: await response.text() }))
} catch (error) {
  console.log(JSON.stringify({ causes: causes(error) }))
}`

type FetchReport =
  { readonly status: number; readonly body: string } | { readonly causes: readonly string[] }

/** Node's fetch opens a tunnel through its proxy, also for plain HTTP. */
export async function runNodeFetch(world: World, { target }: { target: string }): Promise<Outcome> {
  const proxied = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: world.proxy(), HTTPS_PROXY: world.proxy() }
  const env = { ...world.env, ...proxied, NO_PROXY: '' }
  const args = ['--input-type=module', '--eval', FETCH_SCRIPT, target]
  const run = await captureChild(world.node, args, { cwd: world.folder, env })
  const report = JSON.parse(run.stdout || '{"causes":["no output"]}') as FetchReport
  if ('status' in report) return readAnswer(String(report.status), report.body, run.stderr)
  const refused = report.causes.some((cause) => /\b403\b/.test(cause))
  return { decision: refused ? 'deny' : 'error', said: report.causes.join(': '), judgement: null }
}

export async function runGit(world: World, { target }: { target: string }): Promise<Outcome> {
  const clone = mkdtempSync(join(world.folder, 'clone-'))
  const args = ['-c', `http.proxy=${world.proxy()}`, 'clone', '--quiet', target, clone]
  const run = await captureChild('git', args, { cwd: world.folder, env: world.env })
  if (run.code === 0 && readFileSync(join(clone, 'README'), 'utf8') === REPOSITORY_TEXT)
    return { decision: 'allow', said: 'cloned', judgement: null }
  const refused = run.code !== 0 && /\berror: 403\b/.test(run.stderr)
  return { decision: refused ? 'deny' : 'error', said: run.output.trim(), judgement: null }
}

export async function runPalisadeCheck(
  world: World,
  { action = 'read', target }: { action?: string; target: string },
): Promise<Outcome> {
  const run = await runPalisade(world, ['check', action, target, '--json'])
  const judgement = parseJudgement(run.stdout)
  const decision = run.code === 0 ? 'allow' : run.code === 1 ? 'deny' : 'error'
  if (judgement?.decision === decision) return { decision, said: `exit ${run.code}`, judgement }
  return { decision: 'error', said: `exit ${run.code}: ${run.output.trim()}`, judgement: null }
}

function parseJudgement(text: string): Judgement | null {
  try {
    const value: unknown = JSON.parse(text)
    return isJudgement(value) ? value : null
  } catch {
    return null
  }
}

function isJudgement(value: unknown): value is Judgement {
  if (typeof value !== 'object' || value === null) return false
  const { reason, rules } = value as Partial<Record<keyof Judgement, unknown>>
  return typeof reason === 'string' && Array.isArray(rules)
}

function hostOf(target: string): string {
  return target.replace(/^http:\/\//, '').replace(/\/.*$/, '')
}
