/**
 * Rollouts keep copies of changed policies alone. Also keeps servers that expect a copy of every
 * policy from this database: to them the others would be missing.
 */
export function rolloutBases(): string {
  return `
  DELETE FROM rollout_policies WHERE EXISTS (
    SELECT 1 FROM rollouts r JOIN policies p ON p.org = r.org
    WHERE r.id = rollout_policies.rollout_id AND p.id = rollout_policies.policy_id
      AND p.revision <= r.base_revision
  );
  `
}
