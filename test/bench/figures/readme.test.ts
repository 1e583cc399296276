import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { formatRecorded, README, replaceTable } from '../../../bench/src/figures/readme.ts'
import { SUBJECTS } from '../../../bench/src/subjects.ts'

it.each(SUBJECTS)('README has the goals of $name beside the recorded figures', ({ name }) => {
  expect(readFileSync(README, 'utf8')).toContain(formatRecorded(name))
})

it('replaces the table of one subject', () => {
  const before = 'a\n<!-- goals: x -->\n\nold\n\n<!-- end -->\nb'

  expect(replaceTable(before, 'x', 'new')).toBe('a\n<!-- goals: x -->\n\nnew\n\n<!-- end -->\nb')
  expect(() => replaceTable(before, 'y', 'new')).toThrow('has no `<!-- goals: y -->`')
})
