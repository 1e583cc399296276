import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createViewDisk } from '../../../../agent/src/sandbox/view/disk.ts'
import {
  resolveWorkspaces,
  type WorkspaceDeps,
  type WorkspaceRequest,
} from '../../../../agent/src/sandbox/view/workspace.ts'
import { viewScene } from '../../fixture/view-scene.ts'

async function scene(overrides: Partial<WorkspaceDeps> = {}) {
  const made = await viewScene()
  const deps: WorkspaceDeps = {
    disk: made.disk,
    active: made.active,
    home: made.home,
    privatePaths: [made.data],
    ...overrides,
  }
  return {
    ...made,
    judge: (...requests: WorkspaceRequest[]) => resolveWorkspaces(requests, deps),
  }
}

const rw = (path: string): WorkspaceRequest => ({ path, access: 'rw' })
const ro = (path: string): WorkspaceRequest => ({ path, access: 'ro' })

describe('a workspace', () => {
  it('case 74: is judged by its real path, given as a link, with `..` or a slash', async () => {
    const { directory, judge, ws } = await scene()
    symlinkSync(ws, join(directory, 'link'))

    for (const path of [join(directory, 'link'), `${ws}/../ws`, `${ws}/`, `${ws}/.`])
      expect(judge(rw(path))).toMatchObject([{ path: ws, access: 'rw' }])
  })

  it('case 74: is refused through a link to a directory that policy does not open', async () => {
    const { directory, home, judge, ws } = await scene()
    mkdirSync(join(home, 'other'))
    symlinkSync(join(home, 'other'), join(ws, 'inside'))

    expect(() => judge(rw(join(ws, 'inside')))).toThrow(
      `policy denies \`read\` on the workspace \`${home}/other\` (default_deny)`,
    )
    expect(() => judge(rw(join(directory, 'WS')))).toThrow(/does not exist; create it first/)
  })

  it('is a decision for each action, granted or refused', async () => {
    const judged: unknown[] = []
    const { home, judge, rule, ws } = await scene({
      onDecision: ({ decision, reason, rules, request, hint }) =>
        judged.push([decision, reason, rules.length, request, hint]),
    })
    const request = (action: string, path = ws) => ({ action, path })

    judge(rw(ws))
    expect(judged.splice(0)).toEqual([
      ['allow', 'rule', 1, request('read'), null],
      ['allow', 'rule', 1, request('write'), null],
    ])
    mkdirSync(join(home, 'other'))
    expect(() => judge(ro(join(home, 'other')))).toThrow('policy denies')
    const other = join(home, 'other')
    expect(judged.splice(0)).toEqual([
      ['deny', 'default_deny', 0, request('read', other), `allow read ${other}/**`],
    ])
    rule(['allow', 'read', other])
    expect(() => judge(ro(other))).toThrow('not on all that is in it')
    expect(judged).toEqual([
      ['deny', 'default_deny', 0, request('read', other), `allow read ${other}/**`],
    ])
  })

  it('case 74: is refused as a bind of a denied directory', async () => {
    const { directory, home, rule, ws, ...made } = await scene()
    rule(['deny', 'read', `${home}/secret/**`])
    const table = (root: string): Buffer =>
      Buffer.from(`1 0 8:1 / / rw - ext4 sda rw\n2 1 8:1 ${root} ${ws} rw - ext4 sda rw\n`)
    const judge = (root: string) =>
      resolveWorkspaces([ro(ws)], {
        active: made.active,
        disk: { ...createViewDisk(), mountTable: () => table(root) },
        home,
        privatePaths: [],
      })

    expect(() => judge(`${home}/secret/a`)).toThrow(
      `policy denies \`read\` on \`${home}/secret/a\` (rule), and the workspace \`${ws}\` is the ` +
        'same directory',
    )
    expect(judge(`${directory}/elsewhere`)).toMatchObject([
      { path: ws, aliases: [`${directory}/elsewhere`] },
    ])
  })

  it('case 75: is refused when it is or contains the root, home or system', async () => {
    const { directory, home, judge, ...made } = await scene()
    made.rule(['allow', 'read', '/**'], ['allow', 'write', '/**'])

    for (const path of ['/', home, directory, '/home/..', '/usr', '/etc', '/tmp', '/proc/self'])
      expect(() => judge(rw(path)), path).toThrow(/which a sandbox must not see/)
  })

  it('case 75: is refused in, at and above the directories of the agent', async () => {
    const { data, directory, judge, rule } = await scene()
    rule(['allow', 'read', '/**'], ['allow', 'write', '/**'])

    expect(() => judge(ro(data))).toThrow(`the workspace \`${data}\` is \`${data}\``)
    expect(() => judge(ro(join(data, 'view')))).toThrow(/is inside `/)
    expect(() => judge(ro(directory))).toThrow(/contains `/)
  })

  it('case 89: is refused for writing with a read rule, and names the missing action', async () => {
    const { home, judge, rule } = await scene()
    const other = join(home, 'other')
    mkdirSync(other)
    rule(['allow', 'read', `${other}/**`])

    expect(() => judge(rw(other))).toThrow(
      `policy denies \`write\` on the workspace \`${other}\` (default_deny); write ` +
        `\`${other}:ro\` to read it only, or ask an editor of the policy for ` +
        `\`allow write ${other}/**\``,
    )
    expect(judge(ro(other))).toMatchObject([{ path: other, access: 'ro' }])
  })

  it('is refused by a rule for the directory alone, and names the missing one', async () => {
    const { home, judge, rule } = await scene()
    const other = join(home, 'other')
    mkdirSync(join(other, 'x'), { recursive: true })
    const missing = (path: string, action: string): string =>
      `policy allows \`${action}\` on the workspace \`${path}\` itself and not on all that is in it`

    rule(['allow', 'read', other, `${other}/*`], ['allow', 'write', other])
    expect(() => judge(ro(other))).toThrow(
      `${missing(other, 'read')}; ask an editor of the policy for \`allow read ${other}/**\``,
    )
    expect(() => judge(rw(join(other, 'x')))).toThrow(missing(`${other}/x`, 'read'))

    rule(['allow', 'read', `${other}/**`], ['allow', 'write', other])
    expect(judge(ro(other))).toHaveLength(1)
    expect(() => judge(rw(other))).toThrow(
      `${missing(other, 'write')}; write \`${other}:ro\` to read it only, or ask an editor of ` +
        `the policy for \`allow write ${other}/**\``,
    )
  })

  it('is opened by patterns that allow all in it together, and keeps its denies', async () => {
    const { home, judge, rule } = await scene()
    const other = join(home, 'other')
    mkdirSync(other)
    rule(
      ['allow', 'read', other, `${other}/*`, `${other}/*/**`],
      ['deny', 'read', `${other}/secret/**`],
    )

    expect(judge(ro(other))).toMatchObject([{ path: other }])
  })

  it('is refused when a deny rule or no policy at all decides', async () => {
    const { judge, rule, ws } = await scene()
    rule(['deny', 'read', ws])

    expect(() => judge(ro(ws))).toThrow(/policy denies `read` on the workspace .* \(rule\)/)
  })

  it('is refused when it is a file or has a name that is not UTF-8', async () => {
    const { judge, ws } = await scene()
    writeFileSync(join(ws, 'file'), '')
    const odd = Buffer.concat([Buffer.from(`${ws}/`), Buffer.from([0x61, 0xff])])
    mkdirSync(odd)
    symlinkSync(odd, join(ws, 'to-odd'))

    expect(() => judge(ro(join(ws, 'file')))).toThrow(/is not a directory/)
    expect(() => judge(ro(join(ws, 'to-odd')))).toThrow(/a\\xff` is not UTF-8/)
  })

  it('is refused when it is a link to itself', async () => {
    const { judge, ws } = await scene()
    symlinkSync('loop', join(ws, 'loop'))

    expect(() => judge(ro(join(ws, 'loop')))).toThrow(/loop` cannot be reached \(ELOOP\)/)
  })

  it('may have any other name', async () => {
    const { judge, ws } = await scene()
    const path = join(ws, "a\nb 'c' *[x] \u00e9")
    mkdirSync(path)

    expect(judge(rw(path))).toMatchObject([{ path }])
  })

  it('is given once with one access', async () => {
    const { judge, ws } = await scene()

    expect(judge(rw(ws), rw(`${ws}/`))).toHaveLength(1)
    expect(() => judge(rw(ws), ro(ws))).toThrow(/given as `ro` and as `rw`; give it once/)
  })

  it('comes after the workspace that contains it', async () => {
    const { judge, ws } = await scene()
    mkdirSync(join(ws, 'inner'))

    expect(judge(ro(join(ws, 'inner')), rw(ws)).map(({ path }) => path)).toEqual([
      ws,
      join(ws, 'inner'),
    ])
  })

  it('is refused with a kernel file system inside', async () => {
    const { home, ws, ...made } = await scene()
    const table = Buffer.from(`1 0 8:1 / / rw - ext4 sda rw\n2 1 0:9 / ${ws}/p rw - proc proc rw\n`)
    const judge = () =>
      resolveWorkspaces([ro(ws)], {
        active: made.active,
        disk: { ...createViewDisk(), mountTable: () => table },
        home,
        privatePaths: [],
      })

    expect(judge).toThrow(/contains the proc mount/)
  })
})
