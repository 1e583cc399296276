import { describe, expect, it } from 'vitest'
import { nameOfCase } from '../../bench/src/decide/case.ts'
import { DECIDE_CASES, planRun } from '../../bench/src/decide/plan.ts'
import { formatHelp, readOptions } from '../../bench/src/options.ts'
import { SUBJECTS } from '../../bench/src/subjects.ts'

const read = (...argv: string[]) => readOptions(argv, SUBJECTS)

describe('readOptions', () => {
  it.each(SUBJECTS)('reads the subject $name with each of its cases', (subject) => {
    expect(read(subject.name)).toEqual({ kind: 'run', subject, quick: false, only: null })
    for (const only of subject.cases)
      expect(read(subject.name, '--quick', '--only', only)).toEqual({
        kind: 'run',
        subject,
        quick: true,
        only,
      })
  })

  it('shows help without arguments and on request, and names every case in it', () => {
    const help = formatHelp(SUBJECTS)

    expect(read()).toEqual({ kind: 'help' })
    expect(read('server', '-h')).toEqual({ kind: 'help' })
    for (const { name, cases } of SUBJECTS)
      for (const each of [name, ...cases]) expect(help).toContain(each)
  })

  it.each([
    [['machine'], 'unknown subject `machine`; write one of decide, server, tunnels'],
    [['server', 'fleet'], 'unknown subject `server fleet`'],
    [['--quick'], 'unknown subject ``'],
    [['server', '--only', 'paths'], 'unknown case `--only paths`; write one of start, poll'],
    [['server', '--halp'], 'or `--help`'],
  ])('rejects %j with a reason', (argv, said) => {
    expect(read(...argv)).toContain(said)
  })
})

describe('planRun', () => {
  it('has the cases that `--only` takes', () => {
    expect(Object.keys(planRun(true))).toEqual(DECIDE_CASES)
  })

  it('gives each case a name of its own', () => {
    const names = Object.values(planRun(false)).flatMap((cases) =>
      cases.map((planned) => nameOfCase(planned.case)),
    )

    expect(new Set(names).size).toBe(names.length)
  })

  it('takes single readings in several processes', () => {
    expect(planRun(false)['worst']?.every(({ runs }) => runs >= 5)).toBe(true)
  })
})
