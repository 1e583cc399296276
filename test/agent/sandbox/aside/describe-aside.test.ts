import { expect, it } from 'vitest'
import { describeAside } from '../../../../agent/src/sandbox/aside/describe-aside.ts'

const rule = { rule_name: 'keys', policy_name: 'files' }

it('tells the names that were taken away, with the rule or the reason', () => {
  expect(describeAside([])).toEqual([])
  expect(
    describeAside([
      { path: '/p/a.pem', aside: '/p/a.pem.x', cause: 'denied', rule },
      { path: '/p/.envrc', aside: '/p/.envrc.x', cause: 'guarded', rule: null },
      { path: '/p/b/.envrc', aside: '/p/.envrc.y', cause: 'guarded', rule: null },
    ]),
  ).toEqual([
    'the command, or a program outside, made 3 names that the command must not ' +
      'leave, kept aside for you to read:',
    '  `/p/a.pem` → `a.pem.x` (rule `keys` of policy `files`)',
    '  `/p/.envrc` → `.envrc.x` (programs outside obey it)',
    '  `/p/b/.envrc` → `/p/.envrc.y` (programs outside obey it)',
    'rename what you want back; a rule that allows `write` and spells a guarded name opens it, ' +
      'and `--strict` keeps all changes apart',
  ])
})
