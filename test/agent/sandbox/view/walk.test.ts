import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { ViewDisk } from '../../../../agent/src/sandbox/view/disk.ts'
import type { RuleLine } from '../../fixture/bundle.ts'
import { disk, tree, walk, type WalkOptions } from './walk-scene.ts'

describe('the walk', () => {
  it('finds denied files and directories at every depth, and no others', async () => {
    const root = await tree('.env', 'a/.env', 'a/b/c/key.pem', 'a/b/ok', 'secret/x', 'config')

    const { shown } = walk(root, [
      ['deny', 'read', `${root}/**/.env`, `${root}/**/*.pem`, `${root}/secret/**`],
      ['deny', 'write', `${root}/config`],
    ])

    expect(shown).toEqual({
      '.env': 'hidden',
      'a/.env': 'hidden',
      'a/b/c/key.pem': 'hidden',
      secret: 'hidden',
      config: 'read-only',
    })
  })

  it('needs no mask against writing in a read-only workspace', async () => {
    const root = await tree('.env', 'config', '.git/config')

    const { shown } = walk(
      root,
      [
        ['deny', 'read', `${root}/.env`],
        ['deny', 'write', `${root}/config`],
      ],
      { access: 'ro' },
    )

    expect(shown).toEqual({ '.env': 'hidden' })
  })

  it('reads only directories below which a rule may deny a path', async () => {
    const root = await tree('a/.env', 'deep/b/c/d', 'other/e')
    const read: string[] = []
    const counting: ViewDisk = {
      ...disk,
      *listInSteps(path) {
        read.push(path.slice(root.length))
        return yield* disk.listInSteps(path)
      },
    }

    walk(root, [['deny', 'read', `${root}/a/*`]], { access: 'ro', disk: counting })

    expect(read).toEqual(['', '/a'])
  })

  it('follows no link, and holds a denied link at its end', async () => {
    const root = await tree('real/key', 'outside-not')
    symlinkSync(join(root, 'real'), join(root, 'loop'))
    symlinkSync('..', join(root, 'real/up'))
    symlinkSync(join(root, 'real/key'), join(root, '.env'))
    symlinkSync(join(root, 'missing'), join(root, 'dangling.env'))

    const { shown } = walk(root, [['deny', 'read', `${root}/**/.env`, `${root}/**/*.env`]])

    expect(shown).toEqual({ 'real/key': 'hidden' })
  })

  it('judges a bind mount inside by the other paths of its object too', async () => {
    const root = await tree('mounted/key', 'mounted/other')
    const mounted = new Map([[join(root, 'mounted'), ['/vault/keys']]])

    const { shown } = walk(root, [['deny', 'read', '/vault/keys/key']], { mounted })

    expect(shown).toEqual({ 'mounted/key': 'hidden' })
    expect(walk(root, [['deny', 'read', '/v/o']], { aliases: ['/v'] }).shown).toEqual({})
    expect(walk(root, [['deny', 'read', '/v/mounted/other']], { aliases: ['/v'] }).shown).toEqual({
      'mounted/other': 'hidden',
    })
  })

  it('leaves a workspace inside to its own walk', async () => {
    const root = await tree('inner/.env', '.env')

    const { shown } = walk(root, [['deny', 'read', `${root}/**/.env`]], {
      others: [join(root, 'inner')],
    })

    expect(shown).toEqual({ '.env': 'hidden' })
  })

  it('case 90: treats names as exact text', async () => {
    const long = 'n'.repeat(255)
    const names = ['a\nb', '*', '[x]', '\u00e9', 'e\u0301', long, 'a\u2028b']
    const root = await tree(...names)
    const denied = ['\u00e9', long].map((name) => `${root}/${name}`)

    const { shown } = walk(root, [
      ['deny', 'read', ...denied, `${root}/[x]`],
      ['deny', 'write', `${root}/a*b`],
    ])

    expect(shown).toEqual({
      '\u00e9': 'hidden',
      [long]: 'hidden',
      '[x]': 'hidden',
      'a\nb': 'read-only',
      'a\u2028b': 'read-only',
    })
  })

  it('case 90: refuses a name that is not UTF-8 where a rule may deny it', async () => {
    const root = await tree('ok', 'a/ok', 'a\ufffd/ok')
    writeFileSync(Buffer.concat([Buffer.from(`${root}/a/`), Buffer.from([0x6b, 0xff])]), '')
    writeFileSync(Buffer.concat([Buffer.from(`${root}/a/`), Buffer.from([0xfe, 0x0a])]), '')

    expect(() => walk(root, [['deny', 'read', `${root}/**/k*`]])).toThrow(
      `\`${root}/a/k\\xff\` is not UTF-8, and a rule may deny it; rename it, or move it out of the`,
    )
    expect(walk(root, [['deny', 'read', `${root}/**/.env`]]).shown).toEqual({})
    expect(walk(root, [['deny', 'read', `${root}/a\ufffd/ok`]]).shown).toEqual({
      'a\ufffd/ok': 'hidden',
    })
  })

  it('case 91: refuses a tree that is too large, too deep or too slow to check', async () => {
    const root = await tree('a/1', 'a/2', 'a/3', 'b/c/d/e/f')
    const rules: RuleLine[] = [['deny', 'read', `${root}/**/.env`]]
    let nowMs = 0

    expect(() => walk(root, rules, { limits: { maxEntries: 4 } })).toThrow(
      /has more than 4 entries to check; choose a smaller directory/,
    )
    expect(() => walk(root, rules, { limits: { maxDepth: 3 } })).toThrow(
      /is deeper than 3 directories/,
    )
    expect(() =>
      walk(root, rules, { uptime: () => (nowMs += 3000), limits: { maxMs: 5000 } }),
    ).toThrow(/takes more than 5 s to check/)
    expect(walk(root, rules, { limits: { maxEntries: 9 } }).entries).toBe(9)
  })

  it('case 91: refuses a directory that cannot be read, unless no rule reaches below', async () => {
    const root = await tree('closed/x', 'open/.env')
    const failing = (code: string): ViewDisk => ({
      ...disk,
      *listInSteps(path) {
        if (path.endsWith('/closed')) throw Object.assign(new Error(code), { code })
        return yield* disk.listInSteps(path)
      },
    })

    for (const code of ['EACCES', 'EIO'])
      expect(() =>
        walk(root, [['deny', 'read', `${root}/**/.env`]], { disk: failing(code) }),
      ).toThrow(`the directory \`${root}/closed\` cannot be read (${code}), so its denied paths`)
    const options: WalkOptions = { disk: failing('EACCES'), access: 'ro' }
    expect(walk(root, [['deny', 'read', `${root}/open/*`]], options).shown).toEqual({
      'open/.env': 'hidden',
    })
  })

  it('case 91: refuses a directory in which it cannot look at names', async () => {
    const root = await tree('open/closed/x')
    const failing: ViewDisk = {
      ...disk,
      status(path) {
        if (String(path).endsWith('/closed'))
          throw Object.assign(new Error('no'), { code: 'EACCES' })
        return disk.status(path)
      },
    }

    expect(() => walk(root, [['deny', 'read', `${root}/**/.env`]], { disk: failing })).toThrow(
      `\`${root}/open/closed\` cannot be looked at (EACCES); open its directory, or remove it`,
    )
  })

  it('case 91: passes a closed directory of another user, and says so', async () => {
    const root = await tree('closed/x')
    const closed: ViewDisk = {
      ...disk,
      *listInSteps(path) {
        if (path.endsWith('/closed')) throw Object.assign(new Error('no'), { code: 'EACCES' })
        return yield* disk.listInSteps(path)
      },
      status(path) {
        const found = disk.status(path)
        return found === null ? null : { ...found, isOwn: false }
      },
    }

    const { warnings } = walk(root, [['deny', 'read', `${root}/**/.env`]], { disk: closed })

    expect(warnings).toEqual([expect.stringMatching(/closed` cannot be read and is not checked/)])
  })

  it('case 92: holds hooks, tasks and settings of other programs read-only', async () => {
    const root = await tree(
      '.git/config',
      '.git/hooks/pre-commit',
      '.git/modules/lib/hooks/x',
      '.vscode/tasks.json',
      '.mcp.json',
      'src/.git',
      'src/.claude/settings.json',
      'src/code.ts',
    )

    const { shown } = walk(root, [])

    expect(shown).toEqual({
      '.git': 'pinned',
      '.git/config': 'read-only',
      '.git/hooks': 'read-only',
      '.git/modules/lib/hooks': 'read-only',
      '.vscode': 'read-only',
      '.mcp.json': 'read-only',
      'src/.git': 'read-only',
      'src/.claude': 'read-only',
    })
    expect(
      walk(root, [], { isOpened: (path) => path.includes('.vscode') }).shown,
    ).not.toHaveProperty('.vscode')
  })

  it('lists the directories in which a new name may be denied', async () => {
    const root = await tree('a/b/x', 'c/d/x')

    const { watched } = walk(root, [['deny', 'read', `${root}/a/*/key`]], { access: 'ro' })

    expect(watched.map(({ path }) => path.slice(root.length))).toEqual(['', '/a', '/a/b'])
  })
})
