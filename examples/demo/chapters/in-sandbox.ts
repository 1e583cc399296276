import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runPalisade } from '../../../packages/launcher/machine/agent-status.ts'
import { captureChild } from '../../../packages/launcher/process/capture-child.mjs'
import { factRow, type Row } from '../rows/run-row.ts'
import type { Administrator, PolicyFile } from '../world/administration.ts'
import { readExample, type World } from '../world/create-world.ts'
import { ORIGIN_MARK } from '../world/origins.ts'
import { syncRow } from './live-change.ts'

/** A shell script in a sandbox, and the outcome that policy must give it. */
interface Step {
  readonly what: string
  /** The program that matters in it. */
  readonly program: string
  readonly target: string
  readonly script: string
  /** Options of `palisade run`. */
  readonly options?: readonly string[]
  readonly expected: string
  readonly isMet: (run: Run) => boolean
}

interface Run {
  readonly code: number
  /** Standard output and standard error. */
  readonly output: string
  /** Requests and DNS queries that came to servers meanwhile. */
  readonly hits: number
  readonly queries: number
}

const SECRET = 'KEY=secret\n'
/** A name that resolves, and that no rule allows. */
const UNLISTED = 'unlisted.demo.test'
const CURL = 'curl --silent --show-error --max-time 10'

/** Programs run in a sandbox by `palisade run`, where policy is the only way out. */
export async function* inSandbox(world: World, administrator: Administrator): AsyncGenerator<Row> {
  const lacking = await findLack(world)
  if (lacking !== null) {
    const row = { what: 'chapter of the sandbox', program: 'palisade', target: 'run' }
    yield { ...row, expected: '', actual: 'skipped', decided_by: '', said: lacking, ok: null }
    return
  }
  const workspace = join(world.folder, 'workspace')
  mkdirSync(workspace)
  writeFileSync(join(workspace, '.env'), SECRET)
  const text = JSON.stringify(readExample(world.root, 'sandbox.json'))
  const policies = JSON.parse(
    world.fill(text).replaceAll('${workspace}', workspace),
  ) as readonly PolicyFile[]
  for (const policy of policies) await administrator.applyPolicy(policy)
  yield await syncRow(world, 'policies for a sandbox, fetched')
  for (const step of stepsIn(workspace, world)) yield await takeStep(world, workspace, step)
}

/** The reason why no sandbox can be made here, or null. */
async function findLack({ folder, env }: World): Promise<string | null> {
  const script = `for program in bwrap nft ip unshare nsenter setpriv; do
      command -v $program >/dev/null || { echo "$program is not installed"; exit 1; }
    done; unshare --user --map-root-user --net --mount --pid --fork --mount-proc true`
  const path = `${env['PATH']}:/usr/sbin:/sbin`
  const run = await captureChild('sh', ['-c', script], { cwd: folder, env: { ...env, PATH: path } })
  return run.code === 0 ? null : (run.output.trim().split('\n')[0] ?? '')
}

async function takeStep(world: World, workspace: string, step: Step): Promise<Row> {
  const { script, options = [], isMet, ...row } = step
  if (step.program === 'curl' && !world.installed.has('curl'))
    return { ...row, actual: 'skipped', decided_by: '', said: 'curl is not installed', ok: null }
  const before = { hits: world.origins.hits(), queries: world.dns.queries(UNLISTED) }
  const words = ['run', ...options, '--', 'sh', '-c', script]
  const { code, output } = await runPalisade({ ...world, cwd: workspace }, words)
  const hits = world.origins.hits() - before.hits
  const queries = world.dns.queries(UNLISTED) - before.queries
  const ok = isMet({ code, output, hits, queries })
  const [said = ''] = output.trim().split('\n')
  return factRow(row, { ok, actual: ok ? 'as expected' : `exit ${code}`, said })
}

function stepsIn(workspace: string, world: World): readonly Step[] {
  return [...networkSteps(world), ...fileSteps(workspace), ...otherSteps(world)]
}

/** `--noproxy` stands for a program that ignores the variables of the proxy. */
function networkSteps(world: World): readonly Step[] {
  const own = world.fill('http://host.sandbox.internal:${port}/')
  const unlisted = world.fill(`http://${UNLISTED}:\${port}/`)
  const address = 'http://192.0.2.9/'
  const isReached = ({ code, output, hits }: Run): boolean =>
    code === 0 && output.startsWith(ORIGIN_MARK) && hits === 1
  const isRefused = ({ hits, queries }: Run): boolean => hits === 0 && queries === 0
  return [
    {
      what: 'inside: this machine, which a rule allows',
      program: 'curl',
      target: own,
      script: `${CURL} ${own}`,
      expected: 'reached',
      isMet: isReached,
    },
    {
      what: 'inside: host of no rule',
      program: 'curl',
      target: unlisted,
      script: `${CURL} --fail ${unlisted}`,
      expected: 'denied by the proxy',
      isMet: (run) => isRefused(run) && run.output.includes('error: 403'),
    },
    {
      what: 'inside: the proxy ignored, allowed',
      program: 'curl',
      target: own,
      script: `${CURL} --noproxy '*' ${own}`,
      expected: 'captured and carried',
      isMet: isReached,
    },
    {
      what: 'inside: the proxy ignored, no rule',
      program: 'curl',
      target: address,
      script: `${CURL} --noproxy '*' --fail ${address}`,
      expected: 'captured and denied',
      isMet: (run) => isRefused(run) && run.output.includes('error: 403'),
    },
    {
      what: 'inside: DNS for a name of no rule',
      program: 'getent',
      target: UNLISTED,
      script: `getent hosts ${UNLISTED}; echo "exit $?"`,
      expected: 'refused, and not forwarded',
      isMet: (run) => isRefused(run) && run.output.startsWith('exit 2\n'),
    },
  ]
}

function fileSteps(workspace: string): readonly Step[] {
  const isEntire = (): boolean => readFileSync(join(workspace, '.env'), 'utf8') === SECRET
  const file = join(workspace, 'made')
  return [
    {
      what: 'inside: a file of the workspace',
      program: 'sh',
      target: file,
      script: `echo text >${file} && cat ${file}`,
      expected: 'written and read',
      isMet: ({ output }) => output === 'text\n' && existsSync(file),
    },
    {
      what: 'inside: a file that a rule denies',
      program: 'sh',
      target: join(workspace, '.env'),
      script: 'cat .env; rm -f .env; echo "$(wc -c <.env) bytes"',
      expected: 'empty inside, kept outside',
      isMet: ({ output }) => output.endsWith('0 bytes\n') && isEntire(),
    },
    {
      what: 'inside: a write outside of the workspace',
      program: 'sh',
      target: '/usr/palisade-demo',
      script: 'echo x >/usr/palisade-demo',
      expected: 'read-only',
      isMet: ({ code, output }) => code !== 0 && output.includes('Read-only file system'),
    },
  ]
}

function otherSteps(world: World): readonly Step[] {
  const unlisted = world.fill(`http://${UNLISTED}:\${port}/`)
  const closed = join(world.folder, 'files')
  const hint = `allow connect:tcp ${new URL(unlisted).host}`
  return [
    {
      what: 'inside: `palisade why` after a denial',
      program: 'curl',
      target: unlisted,
      script: `${CURL} --output /dev/null ${unlisted}; palisade why`,
      expected: 'names a rule for it',
      isMet: ({ output }) => output.includes(hint),
    },
    {
      what: 'inside: a limit of 1 MiB for /tmp',
      program: 'sh',
      target: '/tmp',
      options: ['--limit', 'tmp=1M'],
      script: 'head -c 2000000 /dev/zero >/tmp/full',
      expected: 'no space left',
      isMet: ({ code, output }) => code !== 0 && output.includes('No space left'),
    },
    {
      what: 'a workspace that no rule opens',
      program: 'palisade',
      target: `run --workspace ${closed}`,
      options: ['--workspace', closed],
      script: 'echo started',
      expected: 'refused at the start',
      isMet: ({ code, output }) => code === 125 && output.includes('`read`'),
    },
  ]
}
