import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createViewDisk } from '../../../agent/src/sandbox/view/disk.ts'
import { systemSettings } from '../../../agent/src/sandbox/view/system-settings.ts'
import type { PolicyBundle } from '../../../agent/src/policy/decision/policy-bundle.ts'
import { bundleClaims, policyOf } from '../fixture/bundle.ts'
import { startUserMachine } from './fixture/machine-process.ts'
import { startSandboxMachine, untilPrinted } from './fixture/machine.ts'

/** Opens the project, and the directory `main` beside it. */
function opened(project: string): PolicyBundle {
  const main = join(project, '..', 'main')
  const patterns = [project, main].flatMap((path) => [path, `${path}/**`])
  return bundleClaims({
    policies: [policyOf(['allow', 'read', ...patterns], ['allow', 'write', ...patterns])],
  })
}

const SHELL = ['--', 'sh', '-c'] as const

function git(directory: string, ...args: readonly string[]): void {
  const author = ['-c', 'user.name=a', '-c', 'user.email=a@b.c']
  const { status, stderr } = spawnSync('git', [...author, ...args], { cwd: directory })
  if (status !== 0) throw new Error(String(stderr))
}

describe('git in a sandbox', () => {
  it('commits with the identity that git has outside in this directory', async () => {
    const machine = await startSandboxMachine(opened)
    const { home, project } = machine
    await writeFile(
      join(home, '.gitconfig'),
      '[user]\n name = Dev Eloper\n email = dev@example.com\n' +
        `[includeIf "gitdir:${home}/"]\n path = work\n`,
    )
    await writeFile(join(home, 'work'), '[user]\n email = work@example.com\n')
    git(project, 'init', '-q')

    const script =
      'echo >a && git add a && git commit -qm made && git log --format="%an %ae %cn %ce"'
    const ended = await machine.run([...SHELL, script])

    expect(ended).toEqual({
      code: 0,
      stdout: 'Dev Eloper work@example.com Dev Eloper work@example.com\n',
      stderr: '',
    })
  })

  it('starts where a placeholder of another sandbox was removed', async () => {
    const machine = await startSandboxMachine(opened)
    git(machine.project, 'init', '-q')
    const first = machine.start([...SHELL, 'echo ready; sleep 30'])
    await untilPrinted(first)
    await rm(join(machine.project, '.git/config.worktree'))

    const ended = await machine.run([...SHELL, 'git status --short && echo ran'])
    first.kill('SIGTERM')

    expect(ended).toEqual({ code: 0, stdout: 'ran\n', stderr: '' })
  })

  it('names the directory and the option for a working tree, which then works', async () => {
    const machine = await startSandboxMachine(opened)
    const main = join(machine.home, 'main')
    await mkdir(main)
    git(main, 'init', '-q')
    git(main, 'commit', '-q', '--allow-empty', '-m', 'first')
    git(main, 'worktree', 'add', '-q', machine.project)
    const words = ['--', 'git', 'log', '--format=%s']

    const alone = await machine.run(words)
    const both = await machine.run(['--workspace', '.', '--workspace', `${main}:rw`, ...words])

    expect(alone.code).toBe(128)
    expect(alone.stderr).toContain(`add \`--workspace ${main}:rw\` beside \`--workspace .\``)
    expect(both).toEqual({ code: 0, stdout: 'first\n', stderr: '' })
  })
})

describe('the authorities of a company in a sandbox', () => {
  const PRINT = [...SHELL, 'echo "$SSL_CERT_FILE $NODE_EXTRA_CA_CERTS $JAVA_TOOL_OPTIONS"']
  const SHOWN = '/etc/ssl/certs'

  it('are passed where their file is readable inside, and not where policy hides it', async () => {
    const machine = await startSandboxMachine(opened)
    const own = join(machine.project, 'ca.pem')
    await writeFile(own, '')
    const JAVA_TOOL_OPTIONS = `-javaagent:/a.jar -Djavax.net.ssl.trustStore=${own}`
    const env = { SSL_CERT_FILE: own, NODE_EXTRA_CA_CERTS: SHOWN, JAVA_TOOL_OPTIONS }

    const ended = await machine.run(PRINT, undefined, env)

    expect(ended).toEqual({
      code: 0,
      stdout: `${own} ${SHOWN} -Djavax.net.ssl.trustStore=${own}\n`,
      stderr: '',
    })
  })

  it('are left out elsewhere, and the person is told, unless they are asked for', async () => {
    const machine = await startSandboxMachine(opened)
    const hidden = join(machine.home, 'ca.pem')
    await writeFile(hidden, '')
    const env = { NODE_EXTRA_CA_CERTS: hidden }

    const told = await machine.run(PRINT, undefined, env)
    const asked = await machine.run(['--env', 'NODE_EXTRA_CA_CERTS', ...PRINT], undefined, env)

    expect(told).toMatchObject({ code: 0, stdout: '  \n' })
    expect(told.stderr).toContain(
      `palisade: NODE_EXTRA_CA_CERTS is left out, because the sandbox does not show \`${hidden}\``,
    )
    expect(asked).toEqual({ code: 0, stdout: ` ${hidden} \n`, stderr: '' })
  })
})

describe('the settings of the machine in a sandbox', () => {
  it('are readable, and no command changes them', async () => {
    const machine = await startSandboxMachine(opened)
    const paths = systemSettings(createViewDisk()).filter((path) => existsSync(`/etc/${path}`))
    const script = `for path; do
      [ -r "/etc/$path" ] || echo "no $path"
      [ -w "/etc/$path" ] && echo "writable $path"
    done; touch /etc/new 2>/dev/null && echo made; echo end`

    const { stdout } = await machine.run([...SHELL, script, 'sh', ...paths])

    expect(stdout).toBe('end\n')
    expect(paths.length).toBeGreaterThan(10)
  })

  it.skipIf(!existsSync('/usr/bin/mvn'))(
    'are found by Maven, whose program has links there',
    async () => {
      const machine = await startSandboxMachine(opened)

      const { code, stdout } = await machine.run(['--', '/usr/bin/mvn', '-v'])

      expect({ code, stdout }).toMatchObject({ code: 0, stdout: /Apache Maven/ })
    },
  )
})

describe.runIf(userInfo().uid === 0)('a user without an entry in /etc/passwd', () => {
  it('has an agent, and learns why it makes no sandbox', async () => {
    const machine = await startUserMachine('unnamed', { bundle: opened })
    expect(await machine.run([...SHELL, 'echo ran'])).toEqual({
      code: 125,
      stdout: '',
      stderr: expect.stringContaining('the user 54321 has no entry in /etc/passwd; add one'),
    })
  })
})
