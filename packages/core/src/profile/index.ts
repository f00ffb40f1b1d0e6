export {
  type ProfileAction,
  type ProfileHeld,
  type ProfilePlan,
  type ProfilePolicy,
  type ProfileSeen,
  type ProfileWorkload,
  planProfile,
} from './plan-profile.ts';
