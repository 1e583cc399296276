import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { chooseAuthorities } from '../../../agent/src/sandbox/choose-authorities.ts'
import { createViewDisk } from '../../../agent/src/sandbox/view/disk.ts'
import type { GuardedView } from '../../../agent/src/sandbox/view/guarded-view.ts'
import { temporaryDirectory } from '../fixture/temporary-directory.ts'

let root: string
let view: Pick<GuardedView, 'areas' | 'restricted' | 'absent'>
beforeEach(async () => {
  root = await temporaryDirectory()
  for (const folder of ['shown', 'outside', 'shown/hidden', 'shown/fixed', 'shown/absent'])
    mkdirSync(join(root, folder))
  for (const file of ['shown/ca.pem', 'outside/ca.pem', 'shown/hidden/ca.pem'])
    writeFileSync(join(root, file), '')
  for (const file of ['shown/fixed/ca.pem', 'shown/absent/ca.pem'])
    writeFileSync(join(root, file), '')
  symlinkSync('../outside/ca.pem', join(root, 'shown/link-out'))
  symlinkSync('../shown/ca.pem', join(root, 'outside/link-in'))
  symlinkSync('ca.pem', join(root, 'shown/link'))
  const restrict = (path: string, level: 'hidden' | 'read-only') =>
    ({ path: join(root, path), level, kind: 'directory', isDenied: true }) as const
  view = {
    areas: [{ path: join(root, 'shown'), access: 'ro' }],
    restricted: [restrict('shown/hidden', 'hidden'), restrict('shown/fixed', 'read-only')],
    absent: new Set([join(root, 'shown/absent')]),
  }
})

const choose = (...paths: readonly string[]) =>
  chooseAuthorities(
    [
      {
        variable: 'SSL_CERT_FILE',
        value: 'value',
        paths: paths.map((path) => join(root, path)),
      },
    ],
    view,
    { disk: createViewDisk(), home: join(root, 'home') },
  )

describe('a variable with certificate authorities', () => {
  it.each(['shown/ca.pem', 'shown', 'shown/link', 'shown/fixed/ca.pem'])(
    'is passed where the sandbox shows its file, %s',
    (path) => {
      expect(choose(path)).toEqual({ variables: [['SSL_CERT_FILE', 'value']], warnings: [] })
    },
  )

  it.each([
    'outside/ca.pem',
    'shown/none.pem',
    'shown/hidden/ca.pem',
    'shown/absent/ca.pem',
    'shown/link-out',
    'outside/link-in',
  ])('is left out with a sentence where it does not, %s', (path) => {
    const { variables, warnings } = choose('shown/ca.pem', path)

    expect(variables).toEqual([])
    expect(warnings).toEqual([
      `SSL_CERT_FILE is left out, because the sandbox does not show \`${join(root, path)}\`; ` +
        `add \`--workspace ${join(root, path, '..')}:ro\` beside \`--workspace .\`, or install ` +
        'the authority below /usr/local/share/ca-certificates',
    ])
  })

  it('is not to be shown with the whole home directory', () => {
    const paths = [join(root, 'outside/ca.pem')]
    const asked = [{ variable: 'PIP_CERT', value: 'value', paths }]

    const from = { disk: createViewDisk(), home: join(root, 'outside') }
    const { warnings } = chooseAuthorities(asked, view, from)

    expect(warnings[0]).toContain('move it into a directory of its own, which `--workspace` can')
  })

  it('need not be given', () => {
    const none = { variables: [], warnings: [] }

    expect(chooseAuthorities(undefined, view, { disk: createViewDisk(), home: root })).toEqual(none)
  })
})
