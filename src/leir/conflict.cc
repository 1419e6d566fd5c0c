#include <algorithm>
#include <set>

#include "leir/coverage.h"
#include "leir/printer.h"

namespace tw::leir {
namespace {

// Works out what an element's position tells about the iteration that writes it: a set of atoms and
// of composites (affine forms that the value uses as a whole, such as c*2+f).
class Determination {
 public:
  Determination(AffineScope* scope, std::vector<Affine> composites)
      : scope_(*scope),
        composites_(std::move(composites)),
        composite_known_(composites_.size(), false) {}

  void Learn(std::vector<Affine> forms) {
    forms_ = std::move(forms);
    // First atoms alone; composites only where those fail, since they hide their atoms.
    for (bool use_composites : {false, true}) {
      for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 0; i < forms_.size(); ++i) {
          changed = LearnOne(Affine(forms_[i]), use_composites) || changed;
        }
        changed = JoinQuotients() || changed;
      }
    }
  }

  bool Knows(const Affine& form) const {
    Affine rest = form;
    std::erase_if(rest.terms, [&](const auto& term) { return KnowsAtom(term.first); });
    if (rest.terms.empty()) return true;
    for (std::size_t i = 0; i < composites_.size(); ++i) {
      if (composite_known_[i] && composites_[i].terms == form.terms) return true;
    }
    return false;
  }
  bool KnowsAtom(const std::string& name) const {
    if (known_.contains(name)) return true;
    const Atom& atom = scope_.atoms().at(name);
    const bool divided = atom.kind == Atom::Kind::kFloorDiv || atom.kind == Atom::Kind::kMod;
    return divided && Knows(atom.inner);
  }

 private:
  struct Term {
    int64_t coefficient;
    int64_t largest;  // after shifting the range to begin at 0
  };

  // Distinct digits: sorted by coefficient, each exceeds what the smaller ones reach together.
  static bool Unique(std::vector<Term> terms) {
    std::sort(terms.begin(), terms.end(),
              [](const Term& a, const Term& b) { return a.coefficient < b.coefficient; });
    int64_t reach = 0;
    for (const Term& term : terms) {
      if (term.largest == 0) continue;
      if (term.coefficient <= reach) return false;
      int64_t product = 0;
      if (__builtin_mul_overflow(term.coefficient, term.largest, &product) ||
          __builtin_add_overflow(reach, product, &reach)) {
        return false;
      }
    }
    return true;
  }

  bool LearnOne(Affine form, bool use_composites) {
    std::erase_if(form.terms, [&](const auto& term) { return known_.contains(term.first); });
    std::vector<Term> terms;
    std::vector<std::size_t> used;
    if (use_composites) {
      for (std::size_t i = 0; i < composites_.size(); ++i) TakeComposite(i, &form, &terms, &used);
    }
    for (const auto& [atom, coefficient] : form.terms) {
      const Interval range = scope_.atoms().at(atom).range;
      if (!range.finite()) return false;
      terms.push_back({std::abs(coefficient), range.hi - range.lo});
    }
    if (terms.empty() || !Unique(terms)) return false;
    bool changed = !form.terms.empty();
    for (const auto& [atom, coefficient] : form.terms) known_.insert(atom);
    for (std::size_t i : used) {
      changed = changed || !composite_known_[i];
      composite_known_[i] = true;
    }
    return changed;
  }

  void TakeComposite(std::size_t i, Affine* form, std::vector<Term>* terms,
                     std::vector<std::size_t>* used) {
    const Affine& composite = composites_[i];
    int64_t factor = 0;
    for (const auto& [atom, coefficient] : composite.terms) {
      const auto here = form->terms.find(atom);
      if (here == form->terms.end() || here->second % coefficient != 0) return;
      if (factor != 0 && here->second / coefficient != factor) return;
      factor = here->second / coefficient;
    }
    const Interval range = scope_.Bound(composite);
    if (factor == 0 || !range.finite()) return;
    for (const auto& [atom, coefficient] : composite.terms) form->terms.erase(atom);
    terms->push_back({std::abs(factor), range.hi - range.lo});
    used->push_back(i);
  }

  // x//k and x%k together tell x.
  bool JoinQuotients() {
    bool changed = false;
    for (const auto& [name, atom] : scope_.atoms()) {
      if (atom.kind != Atom::Kind::kFloorDiv || !known_.contains(name)) continue;
      for (const auto& [other_name, other] : scope_.atoms()) {
        if (other.kind == Atom::Kind::kMod && known_.contains(other_name) &&
            other.divisor == atom.divisor && other.inner.terms == atom.inner.terms &&
            joined_.insert(name).second) {
          forms_.push_back(atom.inner);
          changed = true;
        }
      }
    }
    return changed;
  }

  AffineScope& scope_;
  std::vector<Affine> forms_;
  std::vector<Affine> composites_;
  std::vector<bool> composite_known_;
  std::set<std::string> known_;
  std::set<std::string> joined_;
};

// The largest index-only parts of a value: what its result depends on.
void CollectForms(const Expr& expr, AffineScope* scope, std::vector<Affine>* forms) {
  if (IsIndexExpr(expr)) {
    Affine form = scope->Linearize(expr);
    form.constant = 0;
    const bool plain = std::all_of(form.terms.begin(), form.terms.end(), [&](const auto& term) {
      return scope->atoms().at(term.first).kind != Atom::Kind::kOther;
    });
    if (plain && !form.terms.empty()) forms->push_back(std::move(form));
    if (plain) return;
  }
  for (const ExprPtr& operand : expr.operands) CollectForms(*operand, scope, forms);
}

}  // namespace

std::optional<std::string> FindConflict(const Write& write, bool update) {
  AffineScope scope;
  for (const Loop* loop : write.loops) scope.AddLoop(loop->index, loop->extent);
  std::vector<Affine> target, needed, composites;
  std::set<std::string> target_loops;
  for (const ExprPtr& index : write.statement->indices) {
    target.push_back(scope.Linearize(*index));
    ForEachExpr(*index, [&](const Expr& e) {
      if (e.op == Op::kIndex) target_loops.insert(e.name);
    });
  }
  if (!update) {
    CollectForms(*write.statement->value, &scope, &needed);
    std::copy_if(needed.begin(), needed.end(), std::back_inserter(composites),
                 [](const Affine& form) { return form.terms.size() > 1; });
    // Larger composites first, so that a part of one does not take its atoms away.
    std::stable_sort(composites.begin(), composites.end(), [](const Affine& a, const Affine& b) {
      return a.terms.size() > b.terms.size();
    });
  }
  Determination determination(&scope, std::move(composites));
  determination.Learn(std::move(target));
  if (update) {
    for (const Loop* loop : write.loops) {
      if (loop->extent > 1 && target_loops.contains(loop->index) &&
          !determination.KnowsAtom(loop->index)) {
        return fmt::format("different values of the loop `{}` update the same element of {}",
                           loop->index, write.statement->target);
      }
    }
    return std::nullopt;
  }
  for (const Affine& form : needed) {
    if (determination.Knows(form)) continue;
    for (const auto& [atom, coefficient] : form.terms) {
      const Interval range = scope.atoms().at(atom).range;
      if (!determination.KnowsAtom(atom) && range.lo != range.hi) {
        return fmt::format(
            "the value depends on `{}`, but the indices of {} do not tell it, so the "
            "last iteration would win",
            atom, write.statement->target);
      }
    }
  }
  return std::nullopt;
}

}  // namespace tw::leir
