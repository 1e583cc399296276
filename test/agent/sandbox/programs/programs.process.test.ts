import { execFileSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bundleClaims, policyOf } from '../../fixture/bundle.ts'
import { asUser, testUsers } from '../fixture/bubblewrap.ts'
import { startUserMachine, type UserMachine } from '../fixture/machine-process.ts'
import type { Ended } from '../fixture/machine.ts'
import { startOrigin, type Origin } from './origin.ts'
import { ALLOWED, DENIED, WORKS, type Attempt, type Work } from './programs.ts'

describe.runIf(process.platform === 'linux').each(testUsers())('in a sandbox of %s', (user) => {
  const ends: (() => unknown)[] = []
  let machine: UserMachine
  let origin: Origin
  let missing: ReadonlySet<string>
  beforeAll(async () => {
    origin = await startOrigin(ALLOWED)
    ends.push(origin.close)
    machine = await startUserMachine(user, {
      bundle: (project) =>
        bundleClaims({
          policies: [
            policyOf(
              ['allow', 'read', project, `${project}/**`],
              ['allow', 'write', project, `${project}/**`],
              ['deny', 'read', '/**/.env', '/**/secret.h'],
            ),
            { ...policyOf(['allow', 'connect:tcp', ALLOWED]), id: 'pol_2' },
          ],
        }),
      names: { [ALLOWED]: ['203.0.114.7'], [DENIED]: ['203.0.114.7'] },
      keepsPorts: true,
      onFinished: (end) => void ends.push(end),
    })
    missing = await missingInside(WORKS.flatMap(({ needs }) => needs))
  })
  afterAll(async () => {
    for (const end of ends.toReversed()) await end()
  })

  /** A program may be outside and not inside, such as one in a home directory. */
  async function missingInside(names: readonly string[]): Promise<ReadonlySet<string>> {
    const script = 'for each; do command -v "$each" >/dev/null || echo "$each"; done'
    const { stdout } = await machine.run(['--', 'sh', '-c', script, 'sh', ...names])
    return new Set(stdout.split('\n'))
  }

  /** Does the work in a new directory of the workspace. */
  async function attempt(work: Work, { script }: Attempt): Promise<Ended> {
    const { files = {}, isRepository = false } = work
    const directory = mkdtempSync(join(machine.project, 'work-'))
    machine.give(directory)
    if (isRepository) {
      const words = [...asUser(user), 'git', 'init', '--quiet', directory]
      execFileSync('env', words, { env: { PATH: process.env['PATH'], HOME: directory } })
    }
    for (const [name, text] of Object.entries(files)) {
      writeFileSync(join(directory, name), text)
      machine.give(join(directory, name))
    }
    return machine.run(['--', 'bash', '-c', script(origin)], { cwd: directory })
  }

  it.for(WORKS)('$title where policy allows it', async (work, { skip }) => {
    const lacking = work.needs.filter((name) => missing.has(name))
    skip(lacking.length > 0, `${lacking.join(', ')} not in the sandbox`)

    const ended = await attempt(work, work.allowed)

    const { stdout, stderr } = ended
    expect(stdout + stderr).toContain(work.allowed.shows)
    expect(ended.code, stdout + stderr).toBe(work.allowed.code ?? 0)
  })

  it.for(WORKS)('$title only where policy allows it', async (work, { skip }) => {
    const lacking = work.needs.filter((name) => missing.has(name))
    skip(lacking.length > 0, `${lacking.join(', ')} not in the sandbox`)
    const before = await machine.look()

    const { code, stdout, stderr } = await attempt(work, work.denied)

    expect(stdout + stderr).toContain(work.denied.shows)
    expect(stdout + stderr).not.toContain(work.allowed.shows)
    expect(code, stdout + stderr).toBe(work.denied.code ?? 0)
    const after = await machine.look()
    expect(after.dialled).toEqual(before.dialled)
    expect(after.resolved).not.toContain(DENIED)
  })
})
