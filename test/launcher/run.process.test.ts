import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdirSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { AGENT, BUNDLED, SERVER } from '../../packages/launcher/programs.mjs'
import { createCheckout, finish, type Checkout } from './checkout.ts'

let checkout: Checkout

beforeEach(() => {
  checkout = createCheckout()
})
afterEach(() => {
  checkout.remove()
})

describe('a first run', () => {
  it("installs with the pinned pnpm, builds, and returns the command's exit code", async () => {
    const run = await checkout.run(['palisade', 'check', '3'])

    expect(run.code).toBe(3)
    expect(checkout.logged('npx')).toEqual(['--yes pnpm@12.21.0 install --frozen-lockfile'])
    expect(checkout.logged('bundler')).toEqual(BUNDLED.map(({ name }) => name))
    expect(checkout.logged('tsc')).toEqual([])
    expect(JSON.parse(run.stdout)).toMatchObject({ args: ['check', '3'] })
    expect(run.stderr).toContain('installing packages')
  })

  it('installs once if two runs start together', async () => {
    const runs = await Promise.all([checkout.run(['palisade']), checkout.run(['palisade'])])

    expect(runs.map((run) => run.code)).toEqual([0, 0])
    expect(checkout.logged('npx')).toHaveLength(1)
    expect(checkout.logged('bundler')).toHaveLength(BUNDLED.length)
  })

  it('says that a checkout below `node_modules` must be moved', () => {
    const inside = join(checkout.root, 'node_modules', 'palisade')
    cpSync(join(checkout.root, 'packages'), join(inside, 'packages'), { recursive: true })

    const run = spawnSync(process.execPath, [join(inside, 'packages/launcher/run.mjs'), 'start'])

    expect({ status: run.status, stderr: String(run.stderr) }).toEqual({
      status: 78,
      stderr: expect.stringContaining('below `node_modules`') as string,
    })
  })

  it('ignores the lock of an ended process', async () => {
    checkout.write('node_modules/.palisade/install.lock', '2147483646 gone\n')

    const run = await checkout.run(['palisade'])

    expect(run.code).toBe(0)
  })

  it('reports an unreachable registry with its cause, and the next run tries again', async () => {
    const failing = { NPX_FAILS: 'ERR_PNPM_META_FETCH_FAIL  GET https://r.test/zod: ENOTFOUND' }

    const failed = await checkout.run(['palisade'], { env: failing })
    const retried = await checkout.run(['palisade'])

    expect(failed.code).toBe(1)
    expect(failed.stdout).toBe('')
    expect(failed.stderr).toContain('the package registry cannot be reached')
    expect(failed.stderr).toContain('ENOTFOUND')
    expect(failed.stderr).not.toMatch(/\n\s+at /)
    expect(retried.code).toBe(0)
  })

  it('says that npm must be installed if npx is missing', async () => {
    rmSync(join(checkout.root, 'bin'), { recursive: true })

    const run = await checkout.run(['palisade'], { env: { PATH: '/nowhere' } })

    expect(run.code).toBe(1)
    expect(run.stderr).toContain('npx was not found; install npm')
  })
})

describe('a later run', () => {
  beforeEach(async () => {
    await checkout.run(['palisade'])
  })

  it('uses neither registry nor bundler and prints only the command’s output', async () => {
    const run = await checkout.run(['palisade'])

    expect(run.stderr).toBe('')
    expect(run.stdout.trim().split('\n')).toHaveLength(1)
    expect(checkout.logged('npx')).toHaveLength(1)
    expect(checkout.logged('bundler')).toHaveLength(BUNDLED.length)
  })

  it.each([
    ['the lock file', 'pnpm-lock.yaml'],
    ['a manifest', 'server/package.json'],
    ['the workspace', 'pnpm-workspace.yaml'],
  ])('installs again when %s changed', async (_what, file) => {
    checkout.write(file, '{"changed":true}')

    await checkout.run(['palisade'])

    expect(checkout.logged('npx')).toHaveLength(2)
  })

  it.each([
    ['a source', 'agent/src/new.ts'],
    ['the lock file', 'pnpm-lock.yaml'],
    ['the bundling', 'packages/launcher/prepare/plain.mjs'],
  ])('bundles again when %s changed', async (_what, file) => {
    checkout.write(file, 'export const a = 1')

    await checkout.run(['palisade'])

    expect(checkout.logged('bundler')).toHaveLength(2 * BUNDLED.length)
  })

  it('bundles again when the bundle of a program is missing', async () => {
    rmSync(join(checkout.root, 'agent', 'dist', 'palisade-agent.cjs'))

    const run = await checkout.run(['palisade-agent', 'start', '3'])

    expect(run.code).toBe(3)
    expect(JSON.parse(run.stdout)).toMatchObject({
      args: ['start', '3'],
      options: AGENT.nodeOptions,
    })
  })

  it('starts the server with the Node options and environment of its benchmarks', async () => {
    const run = await checkout.run(['palisade-server', 'start'])

    expect(JSON.parse(run.stdout)).toMatchObject({
      args: ['start'],
      options: SERVER.nodeOptions,
      env: SERVER.environment,
    })
  })

  it('leaves a setting of the caller as it is', async () => {
    const run = await checkout.run(['palisade-server'], { env: { MALLOC_ARENA_MAX: '7' } })

    expect(JSON.parse(run.stdout)).toMatchObject({
      env: { ...SERVER.environment, MALLOC_ARENA_MAX: '7' },
    })
  })

  it('prints the bundler’s error, exits with 1, and runs no outdated program', async () => {
    checkout.write('agent/src/new.ts', 'export const a = 1')

    const failing = { env: { BUNDLER_FAILS: '1' } }
    const runs = [
      await checkout.run(['palisade-agent', 'start'], failing),
      await checkout.run(['palisade-agent', 'start'], failing),
    ]

    for (const run of runs) {
      expect(run).toMatchObject({ code: 1, stdout: '' })
      expect(run.stderr).toContain('an import was not found')
    }
  })
})

describe('a build', () => {
  it('compiles everything, anew when the settings changed or an output is missing', async () => {
    await checkout.run(['build'])
    await checkout.run(['build'])
    checkout.write('tsconfig.json', '{"compilerOptions":{}}')
    await checkout.run(['build'])
    rmSync(join(checkout.root, 'server', 'dist', 'tsconfig.tsbuildinfo'))
    await checkout.run(['build'])

    expect(checkout.logged('tsc')).toEqual(['-b --force', '-b --force', '-b'])
  })

  it('prints the compiler’s errors and exits with 1', async () => {
    const run = await checkout.run(['build'], { env: { TSC_FAILS: '1' } })

    expect(run).toMatchObject({ code: 1, stdout: '' })
    expect(run.stderr).toContain('server/src/a.ts(1,1): error TS1005')
  })
})

describe('a task with an installation of its own', () => {
  const peers = 'bench/peers'
  const program = `console.log('measured')`

  beforeEach(() => {
    checkout.write('bench/src/main.ts', program)
    checkout.write(`${peers}/package.json`, '{"type":"commonjs"}')
    checkout.write(`${peers}/tsc-stand-in`, '')
  })

  it('installs it once, and only for this task', async () => {
    await checkout.run(['palisade'])
    const before = existsSync(join(checkout.root, peers, 'npx.log'))
    const first = await checkout.run(['bench'])
    const second = await checkout.run(['bench'])

    expect(before).toBe(false)
    expect([first.stdout, second.stdout]).toEqual(['measured\n', 'measured\n'])
    const log = readFileSync(join(checkout.root, peers, 'npx.log'), 'utf8')
    expect(log.trim().split('\n')).toHaveLength(1)
  })

  it('continues without it if the registry cannot be reached, and reports that', async () => {
    await checkout.run(['palisade'])

    const run = await checkout.run(['bench'], {
      env: { NPX_FAILS: 'getaddrinfo ENOTFOUND r.test' },
    })

    expect(run).toMatchObject({ code: 0, stdout: 'measured\n' })
    expect(run.stderr).toContain('continuing without')
    expect(run.stderr).toContain('the package registry cannot be reached')
  })
})

describe('the command', () => {
  it('runs in the folder where npm was called, and resolves the data directory there', async () => {
    const folder = join(checkout.root, 'elsewhere')
    mkdirSync(folder)
    const env = { INIT_CWD: folder, npm_lifecycle_event: 'palisade', PALISADE_DATA_DIR: 'data' }

    const run = await checkout.run(['palisade'], { env })

    const here = realpathSync(folder)
    expect(JSON.parse(run.stdout)).toMatchObject({ cwd: here, data: join(folder, 'data') })
  })

  it('has the PATH of the caller, who wants no Node and no programs of the checkout', async () => {
    const PATH = `${dirname(process.execPath)}:${join(checkout.root, 'bin')}:/usr/bin`

    const run = await checkout.run(['palisade'], { env: { PATH } })

    expect(JSON.parse(run.stdout)).toMatchObject({ path: PATH })
  })

  it('ignores the INIT_CWD of an outer npm', async () => {
    const env = { INIT_CWD: '/', npm_lifecycle_event: 'test' }

    const run = await checkout.run(['palisade'], { env })

    expect(JSON.parse(run.stdout)).toMatchObject({
      cwd: realpathSync(checkout.root),
      data: join(checkout.root, '.palisade'),
    })
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('receives %s and sets its exit code', async (signal) => {
    const child = checkout.start(['palisade', 'wait'])
    const finished = finish(child)
    await once(child.stdout ?? child, 'data')

    child.kill(signal)

    expect((await finished).code).toBe(7)
  })

  it('ends when the shell of npm does not forward the signal', async () => {
    const shell = checkout.startInShell(['palisade', 'wait'], {
      env: { npm_lifecycle_event: 'palisade', npm_command: 'run' },
    })
    const ended = finish(shell)
    await once(shell.stdout ?? shell, 'data')

    shell.kill('SIGTERM')

    await expect(ended).resolves.toMatchObject({ stdout: 'waiting\n' })
  })
})

describe('usage', () => {
  it.each([[[]], [['nonsense']], [['__proto__']]])(
    'lists the tasks and exits with 2 for %j',
    async (args) => {
      const run = await checkout.run(args)

      expect(run.code).toBe(2)
      expect(run.stderr).toContain('usage:')
      expect(checkout.logged('npx')).toEqual([])
    },
  )
})
