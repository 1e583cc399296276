import { nearestName } from '@palisade/protocol'
import { expect, it } from 'vitest'

const KNOWN = ['policies', 'local', 'governed', 'home', 'user_teams', 'machine_addresses']

it.each([
  ['polices', 'policies'],
  ['Policies', 'policies'],
  ['userTeams', 'user_teams'],
  ['machine_adresses', 'machine_addresses'],
  ['hom', 'home'],
  ['effect', null],
  ['', null],
  ['x'.repeat(10_000), null],
])('nearestName(%j) is %j', (text, expected) => {
  expect(nearestName(text, KNOWN)).toBe(expected)
})
